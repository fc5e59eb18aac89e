# Three zones, each with a public subnet (load balancers, NAT), a private one (machines) and one for servers.
data "aws_availability_zones" "here" {
  state = "available"

  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

locals {
  zones        = slice(data.aws_availability_zones.here.names, 0, 3)
  public_cidr  = cidrsubnet(var.vpc_cidr, 3, 0) # 10.40.0.0/19
  data_cidr    = cidrsubnet(var.vpc_cidr, 3, 3) # 10.40.96.0/19: the production overlay's networks.yaml names it
  private_cidr = cidrsubnet(var.vpc_cidr, 1, 1) # 10.40.128.0/17: every pod has an address of its own
  nat_count    = var.one_nat_gateway ? 1 : length(local.zones)
}

resource "aws_vpc" "main" {
  cidr_block           = var.vpc_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

# Whatever is not put into a group of its own reaches nothing.
resource "aws_default_security_group" "nothing" {
  vpc_id = aws_vpc.main.id
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id
  tags   = { Name = var.name }
}

resource "aws_subnet" "public" {
  count             = length(local.zones)
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zones[count.index]
  cidr_block        = cidrsubnet(local.public_cidr, 3, count.index)
  tags = {
    Name                     = "${var.name}-public-${local.zones[count.index]}"
    "kubernetes.io/role/elb" = "1"
  }
}

resource "aws_subnet" "private" {
  count             = length(local.zones)
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zones[count.index]
  cidr_block        = cidrsubnet(local.private_cidr, 2, count.index)
  tags = {
    Name                              = "${var.name}-private-${local.zones[count.index]}"
    "kubernetes.io/role/internal-elb" = "1"
  }
}

resource "aws_subnet" "data" {
  count             = length(local.zones)
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zones[count.index]
  cidr_block        = cidrsubnet(local.data_cidr, 3, count.index)
  tags              = { Name = "${var.name}-data-${local.zones[count.index]}" }
}

resource "aws_eip" "nat" {
  count      = local.nat_count
  domain     = "vpc"
  tags       = { Name = "${var.name}-nat-${count.index}" }
  depends_on = [aws_internet_gateway.main]
}

resource "aws_nat_gateway" "main" {
  count         = local.nat_count
  allocation_id = aws_eip.nat[count.index].id
  subnet_id     = aws_subnet.public[count.index].id
  tags          = { Name = "${var.name}-${local.zones[count.index]}" }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.main.id
  tags   = { Name = "${var.name}-public" }

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.main.id
  }
}

resource "aws_route_table_association" "public" {
  count          = length(local.zones)
  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}

resource "aws_route_table" "private" {
  count  = length(local.zones)
  vpc_id = aws_vpc.main.id
  tags   = { Name = "${var.name}-private-${local.zones[count.index]}" }

  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.main[min(count.index, local.nat_count - 1)].id
  }
}

resource "aws_route_table_association" "private" {
  count          = length(local.zones)
  subnet_id      = aws_subnet.private[count.index].id
  route_table_id = aws_route_table.private[count.index].id
}

# Servers reach nothing but the network they are in.
resource "aws_route_table" "data" {
  vpc_id = aws_vpc.main.id
  tags   = { Name = "${var.name}-data" }
}

resource "aws_route_table_association" "data" {
  count          = length(local.zones)
  subnet_id      = aws_subnet.data[count.index].id
  route_table_id = aws_route_table.data.id
}

# What goes to the bucket does not pay for the NAT.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.main.id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = aws_route_table.private[*].id
  tags              = { Name = "${var.name}-s3" }
}

# One group for each kind of server: reached by the cluster's machines, on its own port, and by nobody else.
resource "aws_security_group" "server" {
  for_each    = { postgresql = 5432, redis = 6379, rabbitmq = 5671 }
  name        = "${var.name}-${each.key}"
  description = "${each.key}, from the cluster"
  vpc_id      = aws_vpc.main.id
  tags        = { Name = "${var.name}-${each.key}" }

  ingress {
    description     = "from the cluster"
    from_port       = each.value
    to_port         = each.value
    protocol        = "tcp"
    security_groups = [aws_eks_cluster.main.vpc_config[0].cluster_security_group_id]
  }
}

# One key for all that is kept. Losing it loses everything: AWS waits a month before it deletes one.
resource "aws_kms_key" "main" {
  description             = "${var.name}: database, cache, secrets, files"
  enable_key_rotation     = true
  deletion_window_in_days = 30
}

resource "aws_kms_alias" "main" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.main.key_id
}
