package shell

import (
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestCommandContract(t *testing.T) {
	s := newTool(`
    command = ["sh", "-c", "case $1 in wait) exec sleep 1000;; fail) echo \"no, $TOKEN\" >&2; exit 3;; esac; echo \"$1\"", "sh", input.s]
    env   = { TOKEN = secret.token }
    stdin = input.s
`)
	s.HCL = `secret "token" { env = "TOKEN" }` + s.HCL
	s.Env = map[string]string{"TOKEN": "hunter2hunter2"}
	adaptertest.Run(t, adaptertest.Case{
		Source:       s,
		ValidCall:    `{"s":"a value"}`,
		BlockingCall: `{"s":"wait"}`,
		FailingCalls: map[string]string{"code": `{"s":"fail"}`},
		Secrets:      []string{"hunter2hunter2"},
	})
}

func TestPipeContract(t *testing.T) {
	adaptertest.Run(t, adaptertest.Case{
		Source: newTool(`
    pipe  = [["cat"], ["sh", "-c", "while read -r line; do case $line in wait) sleep 1000;; fail) exit 4;; *) echo \"$line\";; esac; done"], ["sort"]]
    stdin = input.s
    parse = "lines"
`),
		ValidCall:    `{"s":"b\na\n"}`,
		BlockingCall: `{"s":"wait\n"}`,
		FailingCalls: map[string]string{"stage": `{"s":"fail\n"}`},
	})
}

func TestScriptContract(t *testing.T) {
	adaptertest.Run(t, adaptertest.Case{
		Source: newTool(`
    script = <<-SH
      if [ ${input.n} -gt 100 ]; then sleep ${input.n}; fi
      printf '{"n": %d}' ${input.n}
      exit ${input.n}
    SH
    parse  = "json"
`),
		ValidCall:    `{"n":0}`,
		BlockingCall: `{"n":1000}`,
		FailingCalls: map[string]string{"code": `{"n":7}`},
	})
}

func TestConnectionContract(t *testing.T) {
	adaptertest.Run(t, adaptertest.Case{
		Source: newToolWithConnection(`connection "shell" "c" {
  command = ["env", "A=1"]
  env     = { B = "2" }
}`, `"c"`, `command = ["sh", "-c", "echo $A$B $1", "sh", input.s]`),
		ValidCall: `{"s":"x"}`,
	})
}
