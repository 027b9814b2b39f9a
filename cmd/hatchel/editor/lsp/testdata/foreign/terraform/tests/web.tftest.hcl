variables {
  region = "eu-west-1"
}

run "one_address_for_each_subnet" {
  command = plan

  variables {
    subnets = ["subnet-1", "subnet-2"]
  }

  assert {
    condition     = length(aws_instance.web) == 2
    error_message = "There is not one instance for each subnet."
  }
}
