package issuertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NPM is the OpenID provider oidc-provider of npm, as examples/testdata/provider.mjs runs it.
type NPM struct {
	URL string

	t testing.TB
}

// NPMSettings are those of the script.
type NPMSettings struct {
	Form     bool `json:"form"`     // people sign in with a form, whose field "login" is their subject
	UserInfo bool `json:"userinfo"` // claims of people are at the userinfo endpoint alone
	Opaque   bool `json:"opaque"`   // access tokens for a resource are no JWTs
	// Issuer is that of tokens; empty for the URL. A proxy serves the provider there.
	Issuer string `json:"issuer,omitempty"`
	// TokenPath is that of the token endpoint; empty for /token. It also issues tokens on behalf of people, as Entra
	// does: clients exchange access tokens for the audience api://CLIENT-ID.
	TokenPath string `json:"token,omitempty"`
}

// OpenNPM starts a provider with clients, which are JSON as the module has them. It skips the test if the provider is
// not installed. The provider ends with the test.
func OpenNPM(t testing.TB, clients any, s NPMSettings) *NPM {
	t.Helper()
	var arguments []string
	for _, v := range []any{clients, s} {
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, string(encoded))
	}
	return &NPM{URL: startScript(t, "HATCHEL_TEST_PROVIDER", "provider.mjs", arguments...), t: t}
}

// startScript starts a script of examples/testdata with the program and the module that a variable of the environment
// names, and arguments. It returns the first line that the script prints. The script ends with the test.
func startScript(t testing.TB, variable, name string, arguments ...string) string {
	t.Helper()
	words := strings.Fields(os.Getenv(variable))
	if len(words) != 2 {
		t.Skip(variable + " is not set")
	}
	cmd := exec.CommandContext(t.Context(), words[0], append([]string{scriptPath(t, name), words[1]}, arguments...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // it may have been killed with the test
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("%s does not start: %v\n%s", name, err, &stderr)
	}
	return strings.TrimSpace(line)
}

// scriptPath returns the path of a script, which is in the module that the test is of.
func scriptPath(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "examples/testdata", name)
		}
	}
	t.Fatal("the test is not in a module")
	return ""
}

// SetPersons replaces the accounts: the claims of persons, by subject. The current person signs in next.
func (n *NPM) SetPersons(current string, persons map[string]map[string]any) {
	n.t.Helper()
	put(n.t, n.URL+"/persons", map[string]any{"current": current, "persons": persons})
}

// put sends a value to a provider.
func put(t testing.TB, address string, v any) {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the provider answers %s", resp.Status)
	}
}

// Mock is the OpenID provider oauth2-mock-server of npm, as examples/testdata/mock_provider.mjs runs it. It signs in
// the person johndoe for every client.
type Mock struct {
	URL string

	t      testing.TB
	faults string // where they are set
}

// OpenMock starts a provider. It skips the test if the provider is not installed. The provider ends with the test.
func OpenMock(t testing.TB) *Mock {
	t.Helper()
	m := &Mock{t: t}
	m.URL, m.faults, _ = strings.Cut(startScript(t, "HATCHEL_TEST_MOCK_PROVIDER", "mock_provider.mjs"), " ")
	return m
}

// SetFaults sets claims of the ID tokens that follow; a nil one is removed.
func (m *Mock) SetFaults(claims map[string]any) {
	m.t.Helper()
	put(m.t, m.faults, claims)
}
