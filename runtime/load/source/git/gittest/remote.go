// Package gittest serves a bare git repository over https, for tests.
package gittest

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Remote is a repository that git-http-backend serves, and a working tree whose commits are pushed to it.
type Remote struct {
	URL    string // of the repository, with a self-signed certificate
	CAFile string // of that certificate
	Dir    string // the working tree

	Away      atomic.Bool            // every request is answered with 503
	Hangs     atomic.Bool            // no request is answered
	Password  atomic.Pointer[string] // that every request needs, of the user ann; nil for none
	Redirects atomic.Bool            // every request is sent to another name of this host

	Requests atomic.Int64 // that have arrived

	Bare string // the folder of the repository

	t testing.TB
}

// New returns a remote repository without commits, and lets git of this process trust it.
func New(t testing.TB) *Remote {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	base := t.TempDir()
	r := &Remote{t: t, Bare: filepath.Join(base, "tools.git"), Dir: filepath.Join(base, "work"),
		CAFile: filepath.Join(base, "ca.pem")}
	home := filepath.Join(base, "home")
	for _, dir := range []string{r.Dir, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	r.Git("init", "-q", "-b", "main")
	r.Git("init", "-q", "--bare", "-b", "main", r.Bare)
	r.Git("config", "user.name", "Ann")
	r.Git("config", "user.email", "ann@example.org")
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(r.Git("--exec-path")), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + base, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"},
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.Requests.Add(1)
		_, password, _ := req.BasicAuth()
		wanted := r.Password.Load()
		switch {
		case wanted != nil && password != *wanted:
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case r.Hangs.Load():
			<-req.Context().Done()
		case r.Away.Load():
			http.Error(w, "away", http.StatusServiceUnavailable)
		case r.Redirects.Load() && !strings.HasPrefix(req.Host, "localhost"):
			_, port, _ := net.SplitHostPort(req.Host)
			http.Redirect(w, req, "https://localhost:"+port+req.URL.RequestURI(), http.StatusFound)
		default:
			backend.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL + "/tools.git"
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(r.CAFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSL_CAINFO", r.CAFile)
	return r
}

// Git runs git in the working tree and returns its output.
func (r *Remote) Git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "gpg.format=ssh"}, args...)...)
	cmd.Dir, cmd.Env = r.Dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Write writes a file of the working tree.
func (r *Remote) Write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.Dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// Push commits what is in the working tree, with additional flags of git commit, pushes it and returns the commit.
func (r *Remote) Push(flags ...string) (commit string) {
	r.t.Helper()
	r.Git("add", "-A")
	r.Git(append([]string{"commit", "-q", "--allow-empty", "-m", "Change tools"}, flags...)...)
	return r.PushHead()
}

// PushHead pushes the commit of the working tree, whatever the branch had before.
func (r *Remote) PushHead() (commit string) {
	r.t.Helper()
	r.Git("push", "-q", "--force", r.Bare, "HEAD:refs/heads/main")
	return strings.TrimSpace(r.Git("rev-parse", "HEAD"))
}

// Key makes a key for signatures. It returns the flag of git commit that signs with it, and its line for a file of
// allowed signers.
func (r *Remote) Key(name string) (flag, signer string) {
	r.t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		r.t.Skip("ssh-keygen is missing")
	}
	file := filepath.Join(r.t.TempDir(), name)
	generate := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
	if out, err := generate.CombinedOutput(); err != nil {
		r.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(file + ".pub")
	if err != nil {
		r.t.Fatal(err)
	}
	return "-S" + file, name + "@example.org " + string(public)
}
