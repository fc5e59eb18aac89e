# What is due next. Losing it costs a rebuild; a second node makes even that rare.
resource "random_password" "redis" {
  length  = 40
  special = false
}

resource "aws_elasticache_subnet_group" "main" {
  name       = var.name
  subnet_ids = aws_subnet.data[*].id
}

resource "aws_elasticache_parameter_group" "main" {
  name   = "${var.name}-valkey8"
  family = "valkey8"

  # The index is one key: any other policy would drop all of it at once when memory is short.
  parameter {
    name  = "maxmemory-policy"
    value = "noeviction"
  }
}

resource "aws_elasticache_replication_group" "main" {
  replication_group_id       = var.name
  description                = "${var.name}: the index of what is due next"
  engine                     = "valkey"
  engine_version             = "8.1"
  node_type                  = var.redis_node_type
  num_cache_clusters         = 2
  port                       = 6379
  automatic_failover_enabled = true
  multi_az_enabled           = true
  parameter_group_name       = aws_elasticache_parameter_group.main.name
  subnet_group_name          = aws_elasticache_subnet_group.main.name
  security_group_ids         = [aws_security_group.server["redis"].id]
  at_rest_encryption_enabled = true
  kms_key_id                 = aws_kms_key.main.arn
  transit_encryption_enabled = true
  auth_token                 = random_password.redis.result
  snapshot_retention_limit   = 1
  maintenance_window         = "sun:04:30-sun:05:30"
}
