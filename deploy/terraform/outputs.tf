output "kubeconfig_command" {
  description = "Makes kubectl talk to the cluster."
  value       = "aws eks update-kubeconfig --region ${var.region} --name ${aws_eks_cluster.main.name}"
}

output "data_cidr" {
  description = "Where the servers are: for networks.yaml of the production overlay."
  value       = local.data_cidr
}

output "settings" {
  description = "For the ConfigMap of the production overlay."
  value = {
    S3_BUCKET   = aws_s3_bucket.files.bucket
    S3_REGION   = var.region
    S3_ENDPOINT = "https://s3.${var.region}.amazonaws.com"
    # RabbitMQ 4 at Amazon makes quorum queues unless told otherwise, and those refuse the priorities ours have.
    RABBITMQ_QUEUE_TYPE = "classic"
  }
}

output "secrets_env" {
  description = "The whole secrets.env of the production overlay; the three keys and EMAIL_URL are yours to fill in."
  sensitive   = true
  value       = <<-EOT
    SECRET_KEY=
    JWT_SIGNING_KEY=
    SECRETS_KEY=
    EMAIL_URL=
    DATABASE_URL=postgres://punctual:${random_password.database.result}@${aws_db_instance.main.endpoint}/punctual?sslmode=require
    REDIS_URL=rediss://:${random_password.redis.result}@${aws_elasticache_replication_group.main.primary_endpoint_address}:6379/0
    AMQP_URL=${replace(aws_mq_broker.main.instances[0].endpoints[0], "amqps://", "amqps://punctual:${random_password.rabbitmq.result}@")}/%2F
    ${join("\n", [for key in aws_iam_access_key.files : "S3_ACCESS_KEY=${key.id}\nS3_SECRET_KEY=${key.secret}"])}
  EOT
}
