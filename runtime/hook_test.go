package runtime

import (
	"testing"
)

const opsWebhook = `
secret "ops" { env = "OPS" }
webhook "ops" {
  url    = "http://127.0.0.1:1/hooks"
  secret = secret.ops
}
tool "other" {
  description = "Another tool."
  text        = "x"
}
`

func TestACallThatNoHookSelectsAllocatesAsWithoutHooks(t *testing.T) {
	without, plain := newCaller(t, opsWebhook)
	with, hooked := newCaller(t, opsWebhook+`
on "tool_result" {
  tools  = ["oth*"]
  notify = ["ops"]
}
on "tool_call" {
  tools  = ["other"]
  notify = ["ops"]
}
on "reload" { notify = ["ops"] }
`)
	if without.Current().Env.Events != nil || with.Current().Env.Events == nil {
		t.Error("events are published without hooks, or are not with them")
	}
	if none, some := leastAllocs(plain), leastAllocs(hooked); some > none {
		t.Errorf("a call allocates %v times, and without hooks %v times", some, none)
	}
}

func BenchmarkHooks(b *testing.B) {
	for name, block := range map[string]string{
		"none": "", "another tool": `on "tool_result" {
			tools  = ["other"]
			notify = ["ops"]
		}`, "another event": `on "reload" { notify = ["ops"] }`,
		"not selected": `on "tool_result" {
			tools  = ["greet"]
			when   = "event.outcome == 'failed' || event.ms > 5000"
			notify = ["ops"]
		}`,
	} {
		b.Run(name, func(b *testing.B) {
			_, call := newCaller(b, opsWebhook+block)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
