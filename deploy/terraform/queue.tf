# Carries the ids of executions. What it loses is published again from the database.
resource "random_password" "rabbitmq" {
  length  = 40
  special = false
}

resource "aws_mq_broker" "main" {
  broker_name                = var.name
  engine_type                = "RabbitMQ"
  engine_version             = var.rabbitmq_version
  host_instance_type         = var.rabbitmq_instance_type
  deployment_mode            = "CLUSTER_MULTI_AZ"
  publicly_accessible        = false
  auto_minor_version_upgrade = true # Amazon MQ has it no other way from 3.13 on
  subnet_ids                 = aws_subnet.data[*].id
  security_groups            = [aws_security_group.server["rabbitmq"].id]

  user {
    username = "punctual"
    password = random_password.rabbitmq.result
  }

  logs {
    general = true
  }

  maintenance_window_start_time {
    day_of_week = "SUNDAY"
    time_of_day = "05:30"
    time_zone   = "UTC"
  }
}
