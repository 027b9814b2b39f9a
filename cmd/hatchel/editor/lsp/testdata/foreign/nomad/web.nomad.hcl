variable "image" {
  type    = string
  default = "registry.example/web:1.4"
}

job "web" {
  datacenters = ["dc1"]
  type        = "service"

  group "web" {
    count = 2

    network {
      port "http" { to = 8080 }
    }

    service {
      name = "web"
      port = "http"
      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "server" {
      driver = "docker"
      config {
        image = var.image
        ports = ["http"]
      }
      template {
        destination = "local/env"
        env         = true
        data        = <<EOH
{{ with secret "database/creds/web" }}
DATABASE_URL=postgres://{{ .Data.username }}:{{ .Data.password }}@db/${NOMAD_META_db}
{{ end }}
EOH
      }
      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}
