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
  }
}

output "secrets_env" {
  description = "For secrets.env of the production overlay; the three keys and EMAIL_URL are yours to add."
  sensitive   = true
  value       = <<-EOT
    DATABASE_URL=postgres://punctual:${random_password.database.result}@${aws_db_instance.main.endpoint}/punctual?sslmode=require
    REDIS_URL=rediss://:${random_password.redis.result}@${aws_elasticache_replication_group.main.primary_endpoint_address}:6379/0
    AMQP_URL=${replace(aws_mq_broker.main.instances[0].endpoints[0], "amqps://", "amqps://punctual:${random_password.rabbitmq.result}@")}/%2F
    S3_ACCESS_KEY=${aws_iam_access_key.files.id}
    S3_SECRET_KEY=${aws_iam_access_key.files.secret}
  EOT
}
