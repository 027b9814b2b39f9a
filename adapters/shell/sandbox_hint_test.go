package shell

import (
	"errors"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// TestSandboxHint: the log names the argument of the sandbox that may be missing. The message for the model does not.
func TestSandboxHint(t *testing.T) {
	for said, c := range map[string]struct {
		block string
		want  error
	}{
		"a file":               {`script = "echo 'cat: /srv/x: Permission denied' >&2; exit 1"`, errFileHint},
		"an owner":             {`script = "echo 'chown: Operation not permitted' >&2; exit 1"`, errFileHint},
		"a module":             {`script = "echo \"ModuleNotFoundError: No module named 'x'\" >&2; exit 1"`, errFileHint},
		"a host":               {`script = "echo 'curl: (6) Could not resolve host: x.example' >&2; exit 6"`, errNoNetworkHint},
		"a socket":             {`script = "echo 'dial unix /run/d.sock: socket: permission denied' >&2; exit 1"`, errNoNetworkHint},
		"a traceback":          {`script = "echo 'File socket.py, line 232 PermissionError: [Errno 13] Permission denied' >&2; exit 1"`, errNoNetworkHint},
		"a host, with network": {"script = \"echo 'Could not resolve host: x.example' >&2; exit 6\"\nsandbox { network = true }", nil},
		"nothing of it":        {`script = "echo 'no such branch' >&2; exit 1"`, nil},
		"silence":              {`command = ["false"]`, nil},
		"no sandbox":           {"script = \"echo 'Permission denied' >&2; exit 1\"\nsandbox { mode = \"none\" }", nil},
		"a program":            {`command = ["/etc/passwd"]`, errFileHint},
	} {
		t.Run(said, func(t *testing.T) {
			f := runFault(t, c.block, `{}`)
			if c.want == nil && f.Cause != nil || !errors.Is(f.Cause, c.want) && c.want != nil {
				t.Errorf("cause %v of: %s", f.Cause, f.Message)
			}
		})
	}
}

// A program that succeeds may have failed in part. Its error output is in no answer unless the author asks for it.
func TestErrorOutputOfASuccessIsLogged(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"a denied file": {
			`script = "echo 'cat: /srv/x: Permission denied' >&2"`,
			`level=WARN msg="program succeeded with error output" stderr="cat: /srv/x: Permission denied" hint="the sandbox of`,
		},
		"anything else": {
			`script = "echo deprecated >&2"`,
			`level=DEBUG msg="program succeeded with error output" stderr=deprecated`,
		},
		"a secret": {"script = \"echo the key is $KEY >&2\"\nenv = { KEY = secret.k }", `stderr="the key is (secret)"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTool(c.block)
			s.HCL = `secret "k" { env = "K" }` + s.HCL
			s.Env = map[string]string{"K": "very-secret-value"}
			b := adaptertest.Bind(t, s)
			if _, err := b.Do(t.Context(), `{}`); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.Log.String(), c.want) {
				t.Errorf("logged %s", b.Log)
			}
		})
	}
}
