# What Punctual runs on at AWS: a network, a cluster, and PostgreSQL, Valkey, RabbitMQ and a bucket that AWS looks after.
# docs/operations.md says how to get from here to a running system. The state holds passwords: keep it in a bucket that
# is encrypted, versioned and yours alone, as the backend below does once you have named one.
terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80, < 7.0"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.6"
    }
  }

  # backend "s3" {
  #   bucket       = "your-terraform-state"
  #   key          = "punctual/terraform.tfstate"
  #   region       = "eu-central-1"
  #   encrypt      = true
  #   use_lockfile = true
  # }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = {
      Project   = var.name
      ManagedBy = "terraform"
    }
  }
}
