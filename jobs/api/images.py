"""The routes of images: send one, and fetch what was made of it."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.tenancy import HEADER
from execution.handlers.image_thumbnail import LARGEST_SIDE
from execution.imaging import CONTENT_TYPES
from execution.uploads import UnknownUpload, find_upload, open_found
from jobs.api.query_fields import WholeNumberField
from jobs.api.rendering import QuickJSONRenderer
from jobs.api.scoped import TenantScoped
from jobs.api.serializers import JOB, JobSerializer
from jobs.api.strict import StrictSerializer
from jobs.api.uploading import BesidesImages, UploadParser
from jobs.images import order_thumbnail


class SideField(WholeNumberField):
    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=LARGEST_SIDE, required=False, **options)


class YesNoField(serializers.BooleanField):
    """A boolean as a form spells it. DRF takes ten further words for one."""

    TRUE_VALUES = {"true", "True", True}
    FALSE_VALUES = {"false", "False", False}


class ImageOrderSerializer(StrictSerializer):
    file = serializers.FileField(help_text="A JPEG, PNG, WebP or GIF, whatever it is called.")
    width = SideField(help_text="Pixels, at most. Without width and height, 256 each.")
    height = SideField(help_text="Pixels, at most.")
    fit = serializers.ChoiceField(
        ["inside", "cover"],
        default="inside",
        help_text="inside: the whole image, no larger than wanted. cover: both are filled, the rest is cut.",
    )
    greyscale = YesNoField(default=False)
    format = serializers.ChoiceField(list(CONTENT_TYPES), required=False, help_text="Without one, as it was sent.")
    quality = WholeNumberField(min_value=1, max_value=95, default=85, help_text="Of JPEG and WebP.")

    def validate(self, wishes: dict[str, Any]) -> dict[str, Any]:
        if wishes["fit"] == "cover" and ("width" in wishes) != ("height" in wishes):
            raise serializers.ValidationError({"fit": ["cover needs both width and height, or neither."]})
        return wishes


class NewImageView(TenantScoped):
    parser_classes = [UploadParser]

    @extend_schema(
        operation_id="create_image",
        summary="Send an image and have a small one made of it",
        description="The job runs at once. The `result` of its execution has the `name` to fetch the image by.",
        request={"multipart/form-data": ImageOrderSerializer},
        responses={202: JobSerializer},
    )
    def create(self, request: Request) -> Response:
        order = ImageOrderSerializer(data=request.data)
        order.is_valid(raise_exception=True)
        wishes = dict(order.validated_data)
        job = order_thumbnail(wishes.pop("file"), wishes, tenant=self.tenant, actor=request.user)
        return Response(JOB.to_representation(job), status=status.HTTP_202_ACCEPTED)


class ImageView(TenantScoped):
    renderer_classes = [QuickJSONRenderer, BesidesImages]

    @extend_schema(
        operation_id="get_image",
        summary="Fetch an image that was made",
        description="As a JPEG, PNG or WebP. Images as they were sent in cannot be fetched.",
        parameters=[
            OpenApiParameter("name", str, OpenApiParameter.PATH, description="From the result of the execution."),
            OpenApiParameter(
                "If-None-Match", str, OpenApiParameter.HEADER, description="The `ETag` of a copy at hand."
            ),
        ],
        responses={
            (200, "image/*"): OpenApiTypes.BINARY,
            304: OpenApiResponse(description="The copy at hand is the image."),
        },
    )
    def retrieve(self, request: Request, name: str) -> HttpResponseBase:
        try:
            image = find_upload(self.tenant.pk, name)
            if not image.made:  # what others sent in, we do not hand out: who knows what it is
                raise Http404
            content = open_found(image)
        except UnknownUpload:
            raise Http404 from None
        tag = f'"{image.name}"'
        headers = {
            "ETag": tag,
            "Cache-Control": "private, max-age=3600, immutable",  # a name never stands for another image
            "Vary": f"Authorization, {HEADER}",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        }
        answer = FileResponse(content, content_type=image.content_type, filename=image.filename, headers=headers)
        return get_conditional_response(request, etag=tag, response=answer)
