package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const cloudConfig = `
connection "http" "reports" {
  base_url = "http://LISTENER/reports"
  auth {
    aws_sigv4 {
      service  = "s3"
      region   = "eu-central-1"
      role_arn = "arn:aws:iam::123456789012:role/reader"
    }
  }
}
connection "postgres" "aurora" {
  url = "postgres://app@LISTENER/ledger?sslmode=verify-full"
  auth {
    aws_rds { region = "eu-central-1" }
  }
}
connection "mysql" "cloudsql" {
  url = "mysql://app@LISTENER/ledger?tls=true"
  auth {
    google_sql {}
  }
}
connection "mysql" "shop" {
  url = "mysql://app@LISTENER/shop?tls=true"
  auth {
    aws_rds { region = "eu-central-1" }
  }
}
connection "postgres" "azure" {
  url = "postgres://app@LISTENER/ledger?sslmode=verify-full"
  auth {
    entra {}
  }
}
connection "mysql" "azure_stock" {
  url = "mysql://app@LISTENER/stock?tls=true"
  auth {
    entra {}
  }
}
auth {
  jwt {
    issuer   = "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
    audience = "tools"
  }
}
connection "http" "billing" {
  base_url = "http://LISTENER/billing"
  auth {
    google { audience = "https://billing-x.run.app" }
  }
}
connection "http" "directory" {
  base_url = "http://LISTENER/directory"
  auth {
    entra { scope = "https://graph.microsoft.com/.default" }
  }
}
connection "http" "mail" {
  base_url = "http://LISTENER/mail"
  auth {
    entra {
      tenant       = "72f988bf-86f1-41af-91ab-2d7cd011db47"
      client_id    = "6a1c0f5e-2b1d-4c55-9a38-0d8f4c1f7a10"
      scope        = "https://graph.microsoft.com/Mail.Read"
      on_behalf_of = true
    }
  }
}
tool "get_summary" {
  description = "Read what three services have."
  step "billing" {
    http "billing" { get = "/total" }
  }
  step "directory" {
    http "directory" { get = "/users" }
  }
  step "mail" {
    http "mail" { get = "/messages" }
  }
  text = "done"
}
test "summary" {
  tool = "get_summary"
  mock "http" "billing" {
    get     = "/total"
    headers = { Authorization = "Bearer (ID token of Google for https://billing-x.run.app)" }
    reply { json = {} }
  }
  mock "http" "directory" {
    get     = "/users"
    headers = { Authorization = "Bearer (access token of Entra for https://graph.microsoft.com/.default)" }
    reply { json = {} }
  }
  mock "http" "mail" {
    get     = "/messages"
    headers = { Authorization = "Bearer (on behalf of the caller)" }
    reply { json = {} }
  }
  expect { text = "done" }
}
tool "count_stock" {
  description = "Count the articles in stock."
  sql "azure_stock" { query = "SELECT count(*) AS articles FROM stock" }
}
tool "get_balances" {
  description = "Read the balances of all ledgers."
  step "aurora" {
    sql "aurora" { query = "SELECT 1 AS balance" }
  }
  step "cloudsql" {
    sql "cloudsql" { query = "SELECT 1 AS balance" }
  }
  step "shop" {
    sql "shop" { query = "SELECT 1 AS balance" }
  }
  step "azure" {
    sql "azure" { query = "SELECT 1 AS balance" }
  }
  text = "${step.azure.row.balance}"
}
test "balances" {
  tool = "get_balances"
  mock "sql" "aurora" {
    statement = "SELECT 1"
    reply { rows = [{ balance = 1 }] }
  }
  mock "sql" "cloudsql" {
    statement = "SELECT 1"
    reply { rows = [{ balance = 1 }] }
  }
  mock "sql" "shop" {
    statement = "SELECT 1"
    reply { rows = [{ balance = 1 }] }
  }
  mock "sql" "azure" {
    statement = "SELECT 1"
    reply { rows = [{ balance = 1 }] }
  }
  expect { text = "1" }
}
tool "get_report" {
  description = "Read the report of a month."
  input "month" { type = string }
  http "reports" { get = "/${segment(input.month)}" }
}
test "report" {
  tool = "get_report"
  args = { month = "2026-01" }
  mock "http" "reports" {
    get     = "/2026-01"
    headers = { Authorization = "AWS signature of s3 in eu-central-1 (reader)" }
    reply { json = { total = 1 } }
  }
  expect { result = { total = 1 } }
}
`

// TestCommandsOfReviewsAskNoCloud runs them while every source of credentials is configured, and every proxy, and all
// services answer.
func TestCommandsOfReviewsAskNoCloud(t *testing.T) {
	address, asked := listenAndCount(t)
	dir, here := t.TempDir(), "http://"+address
	config := strings.ReplaceAll(cloudConfig, "LISTENER", address)
	if err := os.WriteFile(filepath.Join(dir, "main.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("web-identity-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string][]string{
		"web identity": {"AWS_WEB_IDENTITY_TOKEN_FILE=" + token, "AWS_ROLE_ARN=arn:aws:iam::123456789012:role/pod"},
		"container":    {"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + here + "/credentials"},
	}
	run := func(source, command string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "hatchel", strings.Fields(command)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(environment[source], "HTTPS_PROXY="+here, "GOOGLE_APPLICATION_CREDENTIALS="+token,
			"IDENTITY_ENDPOINT="+here, "IDENTITY_HEADER=x")...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for source := range environment {
		for _, command := range []string{"list .", "policy list .", "lock .", "diff", "lint .", "validate .", "test .",
			"call . get_report month=2026-01 --dry-run", "call . get_balances --dry-run",
			"call . get_summary --dry-run"} {
			if out, err := run(source, command); err != nil || asked.Load() != 0 {
				t.Errorf("%s: hatchel %s asked %d times, %v\n%s", source, command, asked.Load(), err, out)
			}
		}
		out, err := run(source, "call . get_report month=2026-01") // it asks, and so the others could have
		if err == nil || asked.Load() == 0 || !strings.Contains(out, "signing in failed: no AWS credential: ") ||
			strings.Contains(out, "web-identity-token") {
			t.Errorf("%s: a call asked %d times, %v\n%s", source, asked.Load(), err, out)
		}
		asked.Store(0)
	}
}
