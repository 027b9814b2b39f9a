# This file is maintained automatically by "terraform init".
provider "registry.terraform.io/hashicorp/aws" {
  version     = "5.40.0"
  constraints = "~> 5.40"
  hashes = [
    "h1:5Y8QWqlQGa6jQk7BBVfXyAFhfGxxEfyfcKZDQJHkQ2Y=",
  ]
}
