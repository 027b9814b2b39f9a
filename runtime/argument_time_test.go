package runtime

import (
	"context"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// slowType is a type that takes many seconds to check a text of slowText.
const slowType = `string({ pattern = "(aa?){400}b" })`

var slowText = strings.Repeat("a", 2<<20)

const slowSurface = `
tool "direct" {
  description = "Takes a slow text."
  timeout     = "1s"
  input "a" { type = ` + slowType + ` }
  text = input.a
}
tool "step" {
  description = "Passes a slow text to another tool."
  timeout     = "1s"
  step "s" {
    fake { do = "slow" }
  }
  step "t" {
    tool "direct" {
      a = step.s.value
    }
  }
  text = step.t.text
}
tool "returns" {
  description = "Returns a slow text."
  timeout     = "1s"
  fake { do = "slow" }
  returns = object({ a = ` + slowType + ` })
  result  = "{ a: output.value }"
}
tool "raw" {
  description = "Has a schema that the library checks."
  timeout     = "1s"
  schema      = {
    type              = "object"
    patternProperties = { "(aa?){400}b" = { type = "string" } }
  }
  text = "done"
}
tool "guarded" {
  description = "Completes a slow text."
  timeout     = "1s"
  allow       = "input.a != 'no'"
  input "a" {
    type     = optional(` + slowType + `)
  }
  input "b" {
    type     = optional(string, "")
    complete = ["one"]
  }
  text = "${input.a == null ? "" : "a"}${input.b}"
}
prompt "p" {
  description = "Takes a slow text."
  timeout     = "1s"
  argument "a" { type = ` + slowType + ` }
  message "user" { text = input.a }
}
`

// A slow pattern ends with the timeout wherever a value comes from. Forms of questions have no patterns.
func TestCheckingValuesEndsWithTheTimeout(t *testing.T) {
	w := newFakeBackend()
	w.do["slow"] = func(context.Context, *adapters.Call) (any, error) { return slowText, nil }
	h := newHost(t, slowSurface, w.use)
	textOf := func(r *callReply) string { return r.text() }
	arguments := `{"a":"` + slowText + `"}`
	const took = "Checking the arguments took longer than the timeout of 1s"
	for name, c := range map[string]struct {
		do   func() string
		want string
	}{
		"tool":    {func() string { return textOf(mustCall(t, h, modernRequest("direct", arguments, `{}`))) }, took},
		"step":    {func() string { return textOf(mustCall(t, h, modernRequest("step", `{}`, `{}`))) }, "1s"},
		"returns": {func() string { return textOf(mustCall(t, h, modernRequest("returns", `{}`, `{}`))) }, "1s"},
		"schema": {func() string {
			return textOf(mustCall(t, h, modernRequest("raw", `{"`+slowText+`":1}`, `{}`)))
		}, took},
		"completion": {func() string {
			return complete(t, h, &mcp.CompleteRequest{Kind: "tool", Name: "guarded", Argument: "b", Context: []byte(arguments)})
		}, ""},
		"prompt": {func() string { return getPrompt(t, h, "", "p", arguments) }, took},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := c.do()
			if d := time.Since(began); d > 3*time.Second || !strings.Contains(got, c.want) {
				t.Errorf("after %v: %.300s", d, got)
			}
		})
	}
}
