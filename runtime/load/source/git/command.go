package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"hatchel/adapters/guard"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// passed are the variables that git gets: where programs and files of the user are, how the network is reached,
// and with what an operator gives access to a repository. Others could make git use other folders or print
// credentials, or are secrets of the server, which the programs that git starts must not read.
var passed = []string{
	"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "SSH_AUTH_SOCK",
	"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT",
	"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY",
}

// environment returns the variables for git, which may use these transports. Of the configuration of git, only that of
// the user is read, where the credential helper is named.
func environment(transports string) []string {
	env := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=" + transports,
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C"}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// settings override the configuration of the user. Each fetch keeps a pack, so that git collects garbage after a few of
// them. The settings of the lowest speed end a fetch that hangs when the server was killed.
var settings = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "http.followRedirects=false", "submodule.recurse=false",
	"fetch.recurseSubmodules=false", "fetch.bundleURI=",
	"fetch.unpackLimit=1", "gc.autoPackLimit=4", "gc.autoDetach=false", "gc.pruneExpire=now",
	"http.lowSpeedLimit=1", "http.lowSpeedTime=60",
}

// command returns git with hardened settings for the repository. Git and all programs that it starts are ended with
// ctx, and none of them can write a file of more than r.maxPack bytes.
func (r *Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	const blockSize = 512 // of ulimit -f, as POSIX defines it
	script := fmt.Sprintf(`ulimit -f %d && exec git "$@"`, r.maxPack/blockSize)
	line := []string{"-c", script, "git", "--git-dir=" + r.objects()}
	for _, s := range settings {
		line = append(line, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "sh", append(line, args...)...)
	transports := "https:ssh" // of which the configuration of the user may use one in place of the other
	if strings.HasPrefix(r.URL, fileScheme+":") {
		transports = fileScheme
	}
	cmd.Env, cmd.Dir = environment(transports), r.home
	cmd.WaitDelay = time.Second
	if err := guard.Wrap(cmd); err != nil { // in a session of its own: no terminal for a prompt of ssh
		cmd.Err = err
	}
	return cmd
}

// git runs git and returns its output without the line break. The error is a phrase.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := r.command(ctx, args...)
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", r.explain(ctx, err, stderr.String())
	}
	return strings.TrimRight(stdout.String(), "\n"), nil
}

var errTimeout = errors.New("git did not end in time")

// explain returns why git failed: by the first fatal line, or the last line, of what it has written. If that says only
// that the remote cannot be read, ssh has written the cause before it.
func (r *Repository) explain(ctx context.Context, err error, stderr string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	const silentEnd = "fatal: fetch-pack: invalid index-pack output" // the first line if the limit ends index-pack
	if strings.Contains(stderr, fmt.Sprintf("signal %d", int(guard.SIGXFSZ))) ||
		strings.Contains(stderr, "File too large") || strings.HasPrefix(stderr, silentEnd) {
		return fmt.Errorf("it has more than %d MiB", r.maxPack>>20)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 127 { // of sh
		return errors.New("the program git is not found")
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	line := lines[len(lines)-1]
	for i, l := range lines {
		if fatal, ok := strings.CutPrefix(l, "fatal: "); ok {
			line = fatal
			if i > 0 && fatal == "Could not read from remote repository." {
				line = lines[i-1]
			}
			break
		}
	}
	if line == "" {
		return err
	}
	line = userOfURL.ReplaceAllString(removeControls(line), "$1")
	return errors.New(strings.TrimSuffix(line, "."))
}

// userOfURL matches the user in a URL, which may be a token when the configuration of git has put it there.
var userOfURL = lazyregexp.New(`(https?://)[^/@\s']*@`)

// maxMessage is how many bytes of a message of git are kept: the remote writes to it, too.
const maxMessage = 4096

// limited keeps the first bytes of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), maxMessage-l.Len())])
	return len(p), nil
}

// removeControls removes characters with which a text could control a terminal.
func removeControls(text string) string {
	return printable.Replace(strings.ToValidUTF8(text, "?"), "", func(rune) string { return "" })
}

// isPrintable reports whether a name is on one line and hides nothing from people.
func isPrintable(name string) bool {
	return !strings.ContainsFunc(name, unicode.IsControl) && printable.Hidden(name) == nil
}
