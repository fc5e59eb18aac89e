variable "name" {
  description = "Before the name of everything that is made."
  type        = string
  default     = "punctual"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,20}$", var.name))
    error_message = "A name has 2 to 21 lower-case letters, digits and dashes, and begins with a letter."
  }
}

variable "region" {
  description = "Of AWS, such as eu-central-1. It needs three availability zones."
  type        = string
  default     = "eu-central-1"
}

variable "vpc_cidr" {
  description = "Addresses of the network, a /16. The production overlay names the part that servers are in."
  type        = string
  default     = "10.40.0.0/16"

  validation {
    condition     = can(cidrhost(var.vpc_cidr, 0)) && endswith(var.vpc_cidr, "/16")
    error_message = "A network with a /16 is needed, such as 10.40.0.0/16."
  }
}

variable "one_nat_gateway" {
  description = "One for all zones costs a third, and takes all of them off the internet when its zone is lost."
  type        = bool
  default     = false
}

variable "kubernetes_version" {
  description = "Of the cluster. EKS supports each for 14 months: this one until August 2027."
  type        = string
  default     = "1.36"
}

variable "cluster_admin_arns" {
  description = "IAM roles and users that may administer the cluster, besides who makes it."
  type        = list(string)
  default     = []
}

variable "cluster_public_cidrs" {
  description = "From where the cluster's API is reached over the internet. Empty: from inside the network only."
  type        = list(string)
  default     = []

  validation {
    condition     = !contains(var.cluster_public_cidrs, "0.0.0.0/0")
    error_message = "The whole internet is no list of those who may. Name your own addresses."
  }
}

variable "node_instance_types" {
  description = "Machines of the cluster."
  type        = list(string)
  default     = ["m7i.large"]
}

variable "node_count" {
  description = "Machines: at least, to begin with, at most."
  type        = object({ min = number, start = number, max = number })
  default     = { min = 3, start = 3, max = 12 }
}

variable "database_instance_class" {
  description = "PostgreSQL is the truth, and what limits the throughput: begin with 4 processors."
  type        = string
  default     = "db.m7g.xlarge"
}

variable "database_version" {
  description = "Of PostgreSQL. A database made with an older one keeps it by its number here, until it is upgraded."
  type        = string
  default     = "17"
}

variable "database_storage_gb" {
  description = "To begin with, and at most: it grows by itself. An execution takes about a kilobyte."
  type        = object({ start = number, max = number })
  default     = { start = 100, max = 1000 }
}

variable "database_backup_days" {
  description = "To which any second can be gone back to."
  type        = number
  default     = 14

  validation {
    condition     = var.database_backup_days >= 1 && var.database_backup_days <= 35
    error_message = "Backups are kept for 1 to 35 days."
  }
}

variable "static_s3_key" {
  description = "Also make a user with a key for the bucket: for processes that cannot be lent a role, and while moving."
  type        = bool
  default     = false
}

variable "redis_node_type" {
  description = "The index of what is due takes about 200 bytes a job."
  type        = string
  default     = "cache.t4g.small"
}

variable "rabbitmq_instance_type" {
  description = "mq.m7g.large is the smallest that can be a cluster; RabbitMQ 4 runs on mq.m7g only."
  type        = string
  default     = "mq.m7g.large"
}

variable "rabbitmq_version" {
  description = "Amazon MQ upgrades no 3.13 to 4: an older broker keeps its number here until a new one replaces it."
  type        = string
  default     = "4.2"
}

variable "deletion_protection" {
  description = "Refuses to destroy the database and its files. Turn it off and apply before you destroy on purpose."
  type        = bool
  default     = true
}
