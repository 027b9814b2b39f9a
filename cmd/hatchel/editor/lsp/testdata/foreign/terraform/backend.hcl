bucket         = "state-of-production"
key            = "web/terraform.tfstate"
region         = "eu-central-1"
dynamodb_table = "locks"
