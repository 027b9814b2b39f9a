package test_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"hatchel/adapters/adaptertest"
	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test"
	"hatchel/hcl/mock"
	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
)

var kinds = all.Set().Kinds()

// parse returns the mocks of a text.
func parse(t *testing.T, text string) (mocks []*mock.Mock) {
	t.Helper()
	body, diags := syntax.Parse("mocks.hcl", []byte(text))
	if diags.HasErrors() {
		t.Fatalf("%v in:\n%s", diags[0], text)
	}
	for _, b := range body.Blocks {
		m := &mock.Mock{Kind: b.Labels[0], Request: arguments(t, b.Body), Times: 1}
		m.Range.Start.Line = b.Range().Start.Line
		if len(b.Labels) == 2 {
			m.Connection = b.Labels[1]
		}
		for _, inside := range b.Body.Blocks {
			m.Replies = append(m.Replies, arguments(t, inside.Body))
		}
		m.Times = max(1, len(m.Replies))
		if n, ok := m.Request["times"].(int); ok {
			m.Times = n
		}
		mocks = append(mocks, m)
	}
	return mocks
}

func arguments(t *testing.T, body *hclsyntax.Body) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, a := range body.Attributes {
		v, diags := a.Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		encoded, err := ctyjson.Marshal(v, cty.DynamicPseudoType)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := value.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		object, _ := decoded.(map[string]any)
		out[name] = object["value"] // null is null
	}
	return out
}

// hush is the secret of the tests.
var hush = []test.Secret{{Name: "secret.token", Text: "hush-hush-1"}}

// outcome is what has come of a call with mocks.
type outcome struct {
	output   map[string]any
	err      error
	sent     []any
	problems []test.Problem
}

// call makes one call of the tool of a configuration, without arguments.
func call(t *testing.T, config, mocks string) outcome {
	t.Helper()
	dir := t.TempDir()
	m := test.NewMocks(test.Setup{Kinds: kinds, Mocks: parse(t, mocks), Dir: dir, Secrets: hush, Timeout: time.Minute})
	defer m.Close()
	b := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: dir, Mocks: m, HCL: config,
		Env: map[string]string{"TOKEN": "hush-hush-1"}})
	output, err := b.Do(t.Context(), `{}`)
	return outcome{output, err, m.Sent(), m.Problems()}
}

func (o outcome) mustSucceed(t *testing.T) outcome {
	t.Helper()
	if o.err != nil || len(o.problems) > 0 {
		t.Fatalf("error %v, problems %+v", o.err, o.problems)
	}
	return o
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := value.AppendJSON(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const shop = `
secret "token" { env = "TOKEN" }
connection "http" "shop" {
  base_url = "http://shop.test/api"
  auth { bearer = secret.token }
  retry {
    attempts = 2
    backoff  = "1ms"
  }
}
tool "orders" {
  description = "Tests."
  http "shop" {
`

func TestAMockAnswersTheRequestThatItDescribes(t *testing.T) {
	const get = shop + `
    get   = "/orders/7/lines"
    query = { expand = ["a", "b"], page = 2 }
  }
}`
	const post = shop + `
    post = "/orders"
    json = { customer = "Eva", lines = [{ sku = "x", count = 2 }] }
  }
}`
	const form = shop + `
    post = "/orders"
    form = { customer = "Eva", count = 2 }
  }
}`
	for _, c := range []struct{ config, request, difference string }{
		{get, `get = "/orders/7/lines"`, ""},
		{get, `get = "/orders/*/lines"`, ""},
		{get, `get = "/**"`, ""},
		{get, `get = "/orders/**/lines"`, ""},
		{get, `get = "http://shop.test/api/orders/7/lines"`, ""},
		{get, `get = "/orders/7/lines?page=2"`, ""},
		{get, `
  get     = "/orders/*/lines"
  query   = { expand = ["a", "b"], page = 2, other = null }
  headers = { Authorization = "Bearer hush-hush-1" }`, ""},
		{get, `
  get     = "/orders/*/lines"
  headers = { authorization = "Bearer (secret)" }`, ""},
		{get, `post = "/orders/7/lines"`, `the method is "GET", and the mock has "POST"`},
		{get, `get = "/orders/*"`, `the path is "/orders/7/lines", and the mock has "/orders/*"`},
		{get, `get = "/orders/8/lines"`, `the path is "/orders/7/lines", and the mock has "/orders/8/lines"`},
		{get, `
  get   = "/orders/7/lines"
  query = { page = 3 }`, `query.page is "2", and the mock has 3`},
		{get, `
  get   = "/orders/7/lines"
  query = { first = 3 }`, `query.first is absent, and the mock has 3`},
		{get, `
  get     = "/orders/7/lines"
  headers = { accept = "text/plain" }`, `headers.accept is "application/json, */*;q=0.5", and the mock has "text/plain"`},
		{post, `
  post = "/orders"
  json = { lines = [{ sku = "x" }] }`, ""},
		{post, `
  post = "/orders"
  json = { lines = [{ sku = "y" }] }`, `json.lines[0].sku is "x", and the mock has "y"`},
		{post, `
  post = "/orders"
  json = { lines = [] }`, `json.lines is [{"count":2,"sku":"x"}], and the mock has []`},
		{form, `
  post = "/orders"
  form = { count = 2 }`, ""},
		{form, `
  post = "/orders"
  body = "customer=Eva&count=2"`, ""},
		{form, `
  post = "/orders"
  json = {}`, `the body is {"count":"2","customer":"Eva"}, and the mock has {}`},
	} {
		o := call(t, c.config, "mock \"http\" \"shop\" {\n"+c.request+"\nreply { json = [] }\n}\n")
		switch {
		case c.difference == "" && (o.err != nil || len(o.problems) > 0):
			t.Errorf("%s\nerror %v, problems %+v", c.request, o.err, o.problems)
		case c.difference != "" && (len(o.problems) == 0 || !strings.Contains(o.problems[0].Detail, c.difference)):
			t.Errorf("%s\nproblems %+v\nwant %s", c.request, o.problems, c.difference)
		}
	}
}

const readOrder = shop + `
    get      = "/orders/7"
    response = object({ id = integer, status = enum("paid", "open") })
  }
}`

func TestRepliesAreGivenOneAfterTheOther(t *testing.T) {
	o := call(t, readOrder, `
mock "http" "shop" {
  get = "/orders/7"
  reply { status = 503 }
  reply { json = { id = 7, status = "paid" } }
}`).mustSucceed(t)
	if got := text(t, o.output["body"]); got != `{"id":7,"status":"paid"}` || len(o.sent) != 2 {
		t.Errorf("body %s after %d requests", got, len(o.sent))
	}
}

func TestAFailureOfTheNetworkIsAReply(t *testing.T) {
	for fail, want := range map[string]string{
		"refused": "the service refuses connections", "timeout": "did not respond",
		"reset": "the connection to the service was closed",
	} {
		o := call(t, readOrder, `
mock "http" "shop" {
  get = "/orders/7"
  reply { fail = "`+fail+`" }
  times = 2
}`)
		if o.err == nil || !strings.Contains(o.err.Error(), want) || len(o.problems) > 0 {
			t.Errorf("%s: error %v, problems %+v", fail, o.err, o.problems)
		}
	}
}

func TestTheJSONOfAMockIsHeldToTheTypeOfTheResponse(t *testing.T) {
	o := call(t, readOrder, `
mock "http" "shop" {
  get = "/orders/7"
  reply { json = { id = "seven", status = "paid" } }
}`)
	if o.err == nil || !strings.Contains(o.err.Error(), "does not have the expected type: id") {
		t.Errorf("error %v", o.err)
	}
}

func TestAMockThatIsNotUsedAsOftenAsItSaysIsAProblem(t *testing.T) {
	for mocks, want := range map[string]string{
		`mock "http" "shop" {
  get = "/**"
  reply { json = { id = 7, status = "paid" } }
  times = 3
}`: "This answers 3 times, and was asked once. Write times = 1, or remove the replies that are not used.",
		`mock "http" "shop" {
  get = "/**"
  reply { json = { id = 7, status = "paid" } }
}
mock "shell" {
  command = ["git"]
}`: "Nothing that was asked has this answer. Correct the mock, or remove it.",
	} {
		o := call(t, readOrder, mocks)
		if o.err != nil || len(o.problems) != 1 || o.problems[0].Detail != want {
			t.Errorf("error %v, problems %+v", o.err, o.problems)
		}
	}
}

func TestWhatNoMockAnswersIsAProblemWithTheNearestMock(t *testing.T) {
	o := call(t, readOrder, `
mock "http" "shop" {
  get = "/orders/8"
  reply { json = { id = 8, status = "paid" } }
}
mock "http" "shop" {
  post = "/orders/7"
}`)
	if o.err == nil || !strings.Contains(o.err.Error(), "no mock of the test answers GET /orders/7") {
		t.Errorf("error %v", o.err)
	}
	const want = `No mock answers GET /orders/7. The nearest one is in line 2: the path is "/orders/7", and the mock has ` +
		`"/orders/8".`
	if o.problems[0].Detail != want {
		t.Errorf("problem %s", o.problems[0].Detail)
	}
	const mock = `mock "http" "shop" {
  get = "/orders/7"
  reply { json = { id = 1, status = "paid" } }
}
`
	if o.problems[0].Mock != mock {
		t.Errorf("mock\n%s", o.problems[0].Mock)
	}
}

func TestWhatWasSentHasNoSecrets(t *testing.T) {
	o := call(t, readOrder, `
mock "http" "shop" {
  get = "/orders/7"
  reply { json = { id = 7, status = "paid" } }
}`).mustSucceed(t)
	sent := o.sent[0].(map[string]any)
	if got := sent["headers"].(map[string]any)["authorization"]; got != "Bearer (secret)" {
		t.Errorf("authorization %q", got)
	}
	if got := text(t, o.sent); strings.Contains(got, "hush") {
		t.Error(got)
	}
}

func TestARetryOfAMockDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		call(t, readOrder, `
mock "http" "shop" {
  get = "/orders/7"
  reply {
    status  = 429
    headers = { Retry-After = "30" }
  }
  reply { json = { id = 7, status = "paid" } }
}`).mustSucceed(t)
		if waited := time.Since(began); waited > 0 {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestADelayOfAReplyPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		call(t, readOrder, `
mock "http" "shop" {
  get = "/orders/7"
  reply {
    delay = "3s"
    json  = { id = 7, status = "paid" }
  }
}`).mustSucceed(t)
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}
