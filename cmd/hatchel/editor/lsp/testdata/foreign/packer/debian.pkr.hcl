packer {
  required_plugins {
    amazon = {
      version = ">= 1.3.0"
      source  = "github.com/hashicorp/amazon"
    }
  }
}

source "amazon-ebs" "debian" {
  ami_name      = "debian-${local.stamp}"
  instance_type = var.instance_type
  source_ami_filter {
    filters     = { name = "debian-12-amd64-*" }
    most_recent = true
    owners      = ["136693071363"]
  }
  ssh_username = "admin"
}

build {
  name    = "web"
  sources = ["source.amazon-ebs.debian"]

  provisioner "shell" {
    environment_vars = ["DEBIAN_FRONTEND=noninteractive"]
    inline           = ["sudo apt-get update", "sudo apt-get install -y nginx"]
  }

  post-processor "manifest" {
    output = "manifest.json"
  }
}
