# Files that tasks read and make: all machines share them.
resource "aws_s3_bucket" "files" {
  bucket_prefix = "${var.name}-files-"
  force_destroy = !var.deletion_protection
}

resource "aws_s3_bucket_public_access_block" "files" {
  bucket                  = aws_s3_bucket.files.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "files" {
  bucket = aws_s3_bucket.files.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.main.arn
    }
  }
}

resource "aws_s3_bucket_versioning" "files" {
  bucket = aws_s3_bucket.files.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "files" {
  bucket     = aws_s3_bucket.files.id
  depends_on = [aws_s3_bucket_versioning.files]

  rule {
    id     = "what-was-deleted"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 14 # as long as backups of the database that may name it
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }
  }
}

data "aws_iam_policy_document" "plain_http_is_refused" {
  statement {
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.files.arn, "${aws_s3_bucket.files.arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "files" {
  bucket = aws_s3_bucket.files.id
  policy = data.aws_iam_policy_document.plain_http_is_refused.json
}

# Pods sign their requests in the name of this role, which EKS lends to our service account, and may do this alone.
data "aws_iam_policy_document" "lent_to_pods" {
  statement {
    actions = ["sts:AssumeRole", "sts:TagSession"]

    principals {
      type        = "Service"
      identifiers = ["pods.eks.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "files" {
  name               = "${var.name}-files"
  assume_role_policy = data.aws_iam_policy_document.lent_to_pods.json
}

resource "aws_iam_role_policy" "files" {
  name   = "files"
  role   = aws_iam_role.files.name
  policy = data.aws_iam_policy_document.files.json
}

resource "aws_eks_pod_identity_association" "files" {
  cluster_name    = aws_eks_cluster.main.name
  namespace       = "punctual"
  service_account = "punctual"
  role_arn        = aws_iam_role.files.arn
}

data "aws_iam_policy_document" "files" {
  statement {
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    resources = ["${aws_s3_bucket.files.arn}/*"]
  }

  statement {
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.files.arn]
  }

  statement {
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [aws_kms_key.main.arn]
  }
}

# The same with a key of its own, where nobody lends roles.
resource "aws_iam_user" "files" {
  count = var.static_s3_key ? 1 : 0
  name  = "${var.name}-files"
}

resource "aws_iam_user_policy" "files" {
  count  = var.static_s3_key ? 1 : 0
  name   = "files"
  user   = aws_iam_user.files[0].name
  policy = data.aws_iam_policy_document.files.json
}

resource "aws_iam_access_key" "files" {
  count = var.static_s3_key ? 1 : 0
  user  = aws_iam_user.files[0].name
}
