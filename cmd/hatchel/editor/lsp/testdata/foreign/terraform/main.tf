terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.40"
    }
  }
  backend "s3" {}
}

provider "aws" {
  region = var.region
}

variable "region" {
  type        = string
  default     = "eu-central-1"
  description = "Region of all resources."
  validation {
    condition     = can(regex("^[a-z]{2}-[a-z]+-[0-9]$", var.region))
    error_message = "This is not a region: ${var.region}."
  }
}

locals {
  tags = { for k, v in var.tags : lower(k) => v if v != "" }
}

resource "aws_instance" "web" {
  count         = length(var.subnets)
  ami           = data.aws_ami.debian.id
  instance_type = "t3.micro"
  subnet_id     = var.subnets[count.index]
  user_data     = <<-EOT
    #!/bin/sh
    echo "${var.greeting}" > /etc/motd
  EOT
  tags          = merge(local.tags, { Name = "web-${count.index}" })

  connection {
    type = "ssh"
    host = self.public_ip
  }

  lifecycle {
    ignore_changes = [ami]
  }
}

output "addresses" {
  value = aws_instance.web[*].private_ip
}
