package surface_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

const tenantDesk = `secret "eu" { env = "EU" }
secret "us" { env = "US" }
locals {
  roles = { free = "tenant_ro", paid = "tenant_rw" }
}
connection "postgres" "desk" {
  instances = { eu = secret.eu, us = secret.us }
  instance  = caller.claims.region
  role      = local.roles[caller.claims.plan]
  session   = {
    "app.tenant" = caller.claims.tenant
    "app.groups" = jsonencode(caller.groups)
    "app.team"   = coalesce(caller.claims.team, "nobody")
    "app.level"  = caller.claims.level > 3 ? "high" : "low"
  }
}
connection "mysql" "shop" {
  url     = secret.eu
  role    = caller.claims.paid == true ? "rw" : "ro"
  session = {
    timeout = caller.subject
    mode    = "x"
    rate    = 5
    role    = caller.scopes[0]
  }
}
tool "tickets" {
  description = "List."
  sql "desk" { query = "SELECT id FROM tickets LIMIT 10" }
}
tool "orders" {
  description = "List."
  sql "shop" { query = "SELECT id FROM orders LIMIT 10" }
}
`

// TestNoPartOfAnIdentityIsLeftOutOfALock changes each literal, traversal and key of the arguments that say as whom calls
// act, and removes each entry and argument. The lock differs, and a reload waits for each such change.
func TestNoPartOfAnIdentityIsLeftOutOfALock(t *testing.T) {
	base := tenantDesk
	before := surfaceOfText(t, base)
	before.Access = map[string]map[string]string{"tickets": {"*": "yes"}, "orders": {"*": "yes"}}
	lock := before.Lock()
	reread, err := surface.ReadLock(lock, all.Set().Kinds())
	if err != nil || !bytes.Equal(reread.Lock(), lock) {
		t.Fatalf("the lock is read as another one: %v", err)
	}
	tried := 0
	try := func(what string, r hclv2.Range, with string) {
		changed := base[:r.Start.Byte] + with + base[r.End.Byte:]
		config, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(changed)}}, all.Set().Kinds(),
			hcl.Options{Dir: "/srv/tools"}.ForCheck())
		if diags.HasErrors() {
			return
		}
		tried++
		after := surface.Of(config, nil)
		after.Access = before.Access
		diff := surface.Compare(reread, after)
		if bytes.Equal(after.Lock(), lock) || !diff.Reaches(surface.Widening) {
			t.Errorf("%s %q → %q: %v", what, base[r.Start.Byte:r.End.Byte], with, diff.Changes)
		}
	}
	file, diags := hclsyntax.ParseConfig([]byte(base), "a.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type != "connection" && block.Type != "locals" {
			continue
		}
		for _, a := range block.Body.Attributes {
			try("argument", a.SrcRange, "")
			hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hclv2.Diagnostics {
				switch n := n.(type) {
				case *hclsyntax.LiteralValueExpr:
					for _, with := range []string{"another", `"another"`, "7", "false"} {
						if written := base[n.SrcRange.Start.Byte:n.SrcRange.End.Byte]; written != with {
							try("literal", n.SrcRange, with)
						}
					}
				case *hclsyntax.ScopeTraversalExpr:
					for _, with := range []string{"caller.claims.another", "caller.headers.another", "secret.us", `"text"`} {
						if base[n.SrcRange.Start.Byte:n.SrcRange.End.Byte] != with {
							try("traversal", n.SrcRange, with)
						}
					}
				case *hclsyntax.ObjectConsExpr:
					for _, item := range n.Items {
						key := item.KeyExpr.Range()
						try("key", key, `"app.another"`)
						try("key", key, "another")
						whole := hclv2.RangeBetween(key, item.ValueExpr.Range())
						if strings.HasPrefix(base[whole.End.Byte:], ",") {
							whole.End.Byte++
						}
						try("entry", whole, "")
					}
				}
				return nil
			})
		}
	}
	if tried < 60 {
		t.Errorf("only %d changes load", tried)
	}
}

// TestWhatAnIdentityNeedsIsComputed lists the values of the caller without which calls fail.
func TestWhatAnIdentityNeedsIsComputed(t *testing.T) {
	const base = `secret "url" { env = "URL" }
variable "plans" { default = { gold = "a", tin = "b" } }
locals {
  roles   = { free = "ro", paid = "rw" }
  regions = ["eu", "us"]
}
connection "postgres" "db" {
  url     = secret.url
  session = { "app.x" = %s }
}
`
	for expression, want := range map[string]string{
		`caller.subject`:                                                         "caller.subject",
		`caller.claims.tenant`:                                                   "caller.claims.tenant",
		`caller.claims.org.tenant`:                                               "caller.claims.org.tenant",
		`caller.headers.x-team`:                                                  "caller.headers.x-team",
		`"constant"`:                                                             "",
		`jsonencode(caller.groups)`:                                              "",
		`coalesce(caller.claims.tenant, "public")`:                               "",
		`coalesce(caller.claims.tenant, caller.subject)`:                         "",
		`try(caller.claims.tenant, "public")`:                                    "",
		`try(caller.claims.tenant, null)`:                                        "caller.claims.tenant",
		`caller.groups[0]`:                                                       "caller.groups",
		`local.roles[caller.claims.plan]`:                                        "caller.claims.plan",
		`var.plans[caller.claims.plan]`:                                          "caller.claims.plan",
		`try(local.roles[caller.claims.plan], "ro")`:                             "",
		`lower(caller.claims.tenant)`:                                            "caller.claims.tenant",
		`caller.claims.paid == true ? "rw" : "ro"`:                               "caller.claims.paid",
		`caller.claims.plan == "paid" ? "rw" : "ro"`:                             "caller.claims.plan",
		`caller.claims.plan == "paid" ? caller.claims.tenant : null`:             "caller.claims.plan caller.claims.tenant",
		`contains(caller.groups, "admin") ? "all" : caller.claims.tenant`:        "",
		`"${caller.claims.org}/${caller.claims.tenant}"`:                         "caller.claims.org caller.claims.tenant",
		`caller.claims.tenant != null ? caller.claims.tenant : caller.claims.id`: "caller.claims.tenant",
	} {
		t.Run(expression, func(t *testing.T) {
			s := surfaceOfText(t, fmt.Sprintf(base, expression))
			part := s.Connections["postgres db"].Identity[`session."app.x"`]
			if got := strings.Join(part.Needs, " "); got != want {
				t.Errorf("needs %q, want %q", got, want)
			}
		})
	}
}

// TestTheNotationOfAnIdentityMeansNothing writes an index by a value of the caller in other ways.
func TestTheNotationOfAnIdentityMeansNothing(t *testing.T) {
	lock := surfaceOfText(t, tenantDesk).Lock()
	const read = "local.roles[caller.claims.plan]"
	for _, notation := range []string{
		`local.roles[(caller).claims.plan]`, `local.roles[caller["claims"].plan]`, `local.roles[(caller)["claims"]["plan"]]`,
		`(local.roles)[caller.claims["plan"]]`, `(local.roles[(caller.claims.plan)])`, `local.roles["${caller.claims.plan}"]`,
		`"${local.roles[caller.claims.plan]}"`,
	} {
		other := surfaceOfText(t, strings.Replace(tenantDesk, read, notation, 1)).Lock()
		if !bytes.Equal(lock, other) {
			t.Errorf("%s has another lock:\n%s", notation, other)
		}
	}
	if !bytes.Contains(lock, []byte(`"role":{"accepts":["free","paid"],"needs":["caller.claims.plan"],"texts":["tenant_ro","tenant_rw"]}`)) {
		t.Errorf("the lock does not say what chooses the role:\n%s", lock)
	}
}

// TestAChangeOfAnIdentityHasItsClass lists the classes of changes.
func TestAChangeOfAnIdentityHasItsClass(t *testing.T) {
	before := surfaceOfText(t, tenantDesk)
	for _, c := range []struct{ old, new, want string }{
		{`    "app.tenant" = caller.claims.tenant` + "\n", "", "widening acts as another"},
		{`    "app.tenant" = caller.claims.tenant` + "\n", `"app.tenant" = caller.claims.org` + "\n", "breaking calls need caller.claims.org"},
		{`    "app.tenant" = caller.claims.tenant` + "\n", `"app.tenant" = caller.subject` + "\n", "breaking calls need caller.subject"},
		{`    timeout = caller.subject` + "\n", "", "widening acts as another"},
		{`    mode    = "x"`, "    mode = \"ro\"", "widening acts as another"},
		{`    rate    = 5` + "\n", "", "widening acts as another"},
		{`"tenant_rw"`, `"tenant_admin"`, "widening role added: tenant_admin"},
		{`, paid = "tenant_rw"`, ``, "breaking role removed: tenant_rw"},
		{`free = "tenant_ro", paid = "tenant_rw"`, `free = "tenant_rw", paid = "tenant_ro"`, "widening acts as another"},
		{"  role      = local.roles[caller.claims.plan]\n", "", "widening acts as another"},
		{`, us = secret.us`, ``, "breaking instance removed"},
		{`us = secret.us }`, `us = secret.us, ap = secret.us }`, "widening instance added"},
		{`instance  = caller.claims.region`, `instance = coalesce(caller.claims.region, "eu")`, "widening acts as another"},
		{`instance  = caller.claims.region`, `instance = coalesce(caller.claims.region, "eu")`, "compatible calls no longer need caller.claims.region"},
		{"  instances = { eu = secret.eu, us = secret.us }\n  instance  = caller.claims.region\n", "  url = secret.eu\n", "breaking instance removed"},
		{"  url     = secret.eu\n", "  instances = { eu = secret.eu }\n  instance = caller.claims.region\n", "breaking calls need caller.claims.region"},
		{`free = "tenant_ro", paid`, `trial = "tenant_ro", free = "tenant_ro", paid`, "widening acts as another"},
		{`free = "tenant_ro", paid`, `trial = "tenant_ro", paid`, "breaking calls fail if caller.claims.plan is free"},
		{`instance  = caller.claims.region`, `instance = { "eu-1" = "eu", "us-1" = "us" }[caller.claims.region]`, "breaking calls fail if caller.claims.region is eu"},
		{`rate    = 5`, `rate = { a = 1, b = 2 }[caller.claims.plan]`, "breaking calls need caller.claims.plan"},
		{`= caller.claims.tenant`, `= { a = 1, b = 2 }[caller.claims.tenant]`, "breaking calls fail unless caller.claims.tenant is one of a, b"},
	} {
		text := strings.Replace(tenantDesk, c.old, c.new, 1)
		if text == tenantDesk {
			t.Fatalf("%q is not there", c.old)
		}
		changes := surface.Compare(before, surfaceOfText(t, text)).Changes
		class, what, _ := strings.Cut(c.want, " ")
		if !slices.ContainsFunc(changes, func(x surface.Change) bool {
			return x.Class.String() == class && x.Kind == "identity" && strings.Contains(x.Text, what)
		}) {
			t.Errorf("%q → %q: no change %q: %v", c.old, c.new, c.want, changes)
		}
	}
}

// TestAToolThatMovesToAConnectionNeedsWhatItNeeds changes which connection tools use: by their steps, by the tools that
// these call, and by the name of the connection. What another tool now needs is reported with that tool.
func TestAToolThatMovesToAConnectionNeedsWhatItNeeds(t *testing.T) {
	const base = `secret "url" { env = "URL" }
connection "postgres" "plain" { url = secret.url }
connection "postgres" "desk" {
  url     = secret.url
  session = { "app.tenant" = caller.claims.tenant }
}
tool "inner" {
  description = "List."
  sql "plain" { query = "SELECT id FROM tickets LIMIT 10" }
}
tool "owned" {
  description = "List."
  sql "desk" { query = "SELECT id FROM orders LIMIT 10" }
}
tool "outer" {
  description = "List."
  step "a" {
    tool "inner" {}
  }
  text = "x"
}
`
	before := surfaceOfText(t, base)
	for _, c := range []struct {
		old, new string
		want     []string // the tools that need the tenant
	}{
		{`sql "plain"`, `sql "desk"`, []string{"inner"}},
		{`tool "inner" {}`, `tool "owned" {}`, []string{"outer"}},
		{`"desk"`, `"tickets"`, nil},
		{`{ url = secret.url }`, "{\n  url = secret.url\n  session = { \"app.tenant\" = caller.claims.tenant }\n}", []string{"connection postgres plain"}},
		{`"app.tenant" = caller.claims.tenant`, `"app.tenant" = caller.claims.org`, []string{"connection postgres desk"}},
	} {
		var needs []string
		for _, x := range surface.Compare(before, surfaceOfText(t, strings.ReplaceAll(base, c.old, c.new))).Changes {
			if x.Class == surface.Breaking && strings.HasPrefix(x.Text, "calls need caller.claims.") {
				needs = append(needs, strings.TrimPrefix(x.Object, "tool "))
			}
		}
		if slices.Sort(needs); !slices.Equal(needs, c.want) {
			t.Errorf("%s → %s: calls of %q need a claim, want %q", c.old, c.new, needs, c.want)
		}
	}
}
