"""Where mails go while no mail server is configured: into a folder, and a line in the log."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone

from scheduler_project.private import private_folder, write_private

logger = structlog.get_logger(__name__)


class FolderBackend(BaseEmailBackend):
    """One `.eml` file a mail, named by time, which any mail program opens."""

    def send_messages(self, messages: Sequence[EmailMessage]) -> int:
        folder = settings.MAIL_FOLDER
        private_folder(folder)
        for message in messages:
            path = folder / f"{timezone.now():%Y%m%d-%H%M%S-%f}-{uuid4().hex[:8]}.eml"
            write_private(path, message.message().as_bytes())
            logger.info("mail.written", to=message.recipients(), subject=message.subject, file=str(path))
        return len(messages)
