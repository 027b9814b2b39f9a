variable "instance_type" {
  type    = string
  default = "t3.small"
}

locals {
  stamp = regex_replace(timestamp(), "[- TZ:]", "")
}
