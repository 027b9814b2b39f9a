package git

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/load/source/git/gittest"
)

// open returns the repository of a remote, in a folder of its own.
func open(t testing.TB, remote *gittest.Remote, rest, signers string) *Repository {
	t.Helper()
	return openLocation(t, "git+"+remote.URL+rest, signers)
}

func openLocation(t testing.TB, location, signers string) *Repository {
	t.Helper()
	l, err := ParseLocation(location)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(l, filepath.Join(t.TempDir(), "home"), signers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeReadOnly(r.home) })
	return r
}

func fetch(t testing.TB, r *Repository) (dir string) {
	t.Helper()
	dir, _, err := r.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve fetches and serves a revision.
func serve(t testing.TB, r *Repository) (dir string) {
	t.Helper()
	dir = fetch(t, r)
	if err := r.Serve(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFetchReturnsTheFolderOfTheCommit(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("prod/a.hcl", "# one")
	remote.Write("prod/scripts/run.sh", "#!/bin/sh\n")
	remote.Write("other/b.hcl", "# other")
	if err := os.Chmod(filepath.Join(remote.Dir, "prod/scripts/run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := remote.Push()
	r := open(t, remote, "//prod?ref=main", "")
	dir := serve(t, r)
	if CommitOf(dir) != first || read(t, dir, "a.hcl") != "# one" {
		t.Errorf("%s has %q", dir, read(t, dir, "a.hcl"))
	}
	if info, err := os.Stat(filepath.Join(dir, "scripts/run.sh")); err != nil || info.Mode() != 0o500 {
		t.Errorf("the script has the mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the folder has the mode %v, %v", info.Mode(), err)
	}
	remote.Write("prod/a.hcl", "# two")
	second := remote.Push()
	if next := serve(t, r); CommitOf(next) != second || read(t, next, "a.hcl") != "# two" || read(t, dir, "a.hcl") != "# one" {
		t.Errorf("after a push: %s", next)
	}
	if read(t, r.current(), "a.hcl") != "# two" {
		t.Error("the link does not lead to what is served")
	}
}

func TestFetchFollowsAForcedPushWithoutSignatures(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	r := open(t, remote, "?ref=main", "")
	serve(t, r)
	remote.Git("checkout", "-q", "--orphan", "other")
	remote.Write("a.hcl", "# other")
	if commit := remote.Push(); CommitOf(serve(t, r)) != commit {
		t.Error("the forced push is not followed")
	}
}

func TestRefsMayBeTagsAndCommits(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	commit := remote.Push()
	remote.Git("tag", "-a", "-m", "one", "v1")
	remote.Git("push", "-q", remote.Bare, "v1")
	remote.Push()
	for _, ref := range []string{"v1", "refs/tags/v1", commit} {
		if got := CommitOf(fetch(t, open(t, remote, "?ref="+ref, ""))); got != commit {
			t.Errorf("%s is %s", ref, got)
		}
	}
}

func TestANameOfABranchAndATagIsRefused(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	commit := remote.Push()
	r := open(t, remote, "?ref=main", "")
	served := serve(t, r)
	// Git lists the last one before the branch, and finds it by the name of the branch, too.
	remote.Write("a.hcl", "# by somebody who may push no branch main")
	remote.Git("commit", "-q", "-a", "-m", "two")
	for _, ref := range []string{"refs/tags/main", "refs/heads/a/refs/heads/main"} {
		remote.Git("push", "-q", remote.Bare, "HEAD:"+ref)
	}
	_, _, err := r.Fetch(t.Context())
	want := "main is a branch and a tag. Write ?ref=refs/heads/main or ?ref=refs/tags/main"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	remote.Git("push", "-q", remote.Bare, ":refs/tags/main")
	if dir := fetch(t, r); dir != served || CommitOf(dir) != commit {
		t.Errorf("without the tag, %s is fetched", dir)
	}
}

func TestAKnownRevisionIsNotFetched(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Git("tag", "-a", "-m", "one", "v1", remote.Push())
	remote.Git("push", "-q", remote.Bare, "v1")
	for _, ref := range []string{"main", "v1", "HEAD"} {
		r := open(t, remote, "?ref="+ref, "")
		commit := CommitOf(fetch(t, r))
		before := remote.Requests.Load()
		if again := CommitOf(fetch(t, r)); again != commit {
			t.Errorf("%s is %s, then %s", ref, commit, again)
		}
		if n := remote.Requests.Load() - before; n > 2 { // for the capabilities, and for the ref
			t.Errorf("%s takes %d requests when it is known", ref, n)
		}
	}
}

// script writes a program and returns its path.
func script(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCredentialsComeFromAHelperAndAreInNoError(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	commit := remote.Push()
	remote.Password.Store(new("s3cret"))
	r := open(t, remote, "", "")
	if _, _, err := r.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "terminal prompts disabled") {
		t.Errorf("without a helper: %v", err)
	}
	remote.Git("config", "--global", "credential.helper", script(t, "echo username=ann\necho password=wr0ng\n"))
	if _, _, err := r.Fetch(t.Context()); err == nil || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("with a wrong password: %v", err)
	}
	remote.Git("config", "--global", "--unset", "credential.helper")
	withToken := "url." + strings.Replace(remote.URL, "https://", "https://t0ken@", 1) + ".insteadOf"
	remote.Git("config", "--global", withToken, remote.URL)
	if _, _, err := r.Fetch(t.Context()); err == nil || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("with a token in the configuration of git: %v", err)
	}
	remote.Git("config", "--global", "--unset", withToken)
	t.Setenv("GIT_ASKPASS", script(t, `case "$1" in User*) echo ann;; *) echo s3cret;; esac`))
	if got := CommitOf(fetch(t, r)); got != commit {
		t.Errorf("the commit is %s", got)
	}
}

func TestProgramsOfGitDoNotGetTheVariablesOfTheServer(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	seen := filepath.Join(t.TempDir(), "env")
	t.Setenv("GIT_SSH_COMMAND", script(t, `env >`+seen+`; for last; do :; done; exec sh -c "$last"`))
	t.Setenv("STATE_DSN", "postgres://hatchel:s3cret@db.example/hatchel")
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	fetch(t, openLocation(t, "git+ssh://git@git.example"+remote.Bare+"?ref=main", ""))
	env := read(t, filepath.Dir(seen), "env")
	if strings.Contains(env, "s3cret") || !strings.Contains(env, "SSH_AUTH_SOCK=/run/agent\n") {
		t.Errorf("ssh has the environment\n%s", env)
	}
}

func TestFetchOverSSH(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	commit := remote.Push()
	// A program in place of ssh runs the command for the other machine on this one.
	t.Setenv("GIT_SSH_COMMAND", script(t, `for last; do :; done; exec sh -c "$last"`))
	t.Setenv("GIT_SSH_VARIANT", "ssh")
	r := openLocation(t, "git+ssh://git@git.example"+remote.Bare+"?ref=main", "")
	if got := CommitOf(fetch(t, r)); got != commit {
		t.Errorf("the commit is %s", got)
	}
}

func TestAProgramThatGitLeavesRunningFailsNoFetch(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	commit := remote.Push()
	pids := filepath.Join(t.TempDir(), "pids")
	t.Setenv("GIT_SSH_COMMAND", script(t, `sleep 600 <&- >&- & echo $! >>`+pids+`; for last; do :; done; exec sh -c "$last"`))
	t.Setenv("GIT_SSH_VARIANT", "ssh")
	t.Cleanup(func() { exec.Command("sh", "-c", "kill $(cat "+pids+")").Run() })
	if got := CommitOf(fetch(t, openLocation(t, "git+ssh://git@git.example"+remote.Bare, ""))); got != commit {
		t.Errorf("the commit is %s", got)
	}
}

// TestAnUnknownSSHHostIsNamedAsTheCause has a program in place of ssh that fails as ssh does.
func TestAnUnknownSSHHostIsNamedAsTheCause(t *testing.T) {
	t.Setenv("GIT_SSH_COMMAND", script(t, `echo "Host key verification failed." >&2; exit 255`))
	t.Setenv("GIT_SSH_VARIANT", "ssh")
	_, _, err := openLocation(t, "git+ssh://git@git.example/tools.git", "").Fetch(t.Context())
	want := "the repository ssh://git@git.example/tools.git cannot be fetched: Host key verification failed"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestSignedRevisions(t *testing.T) {
	remote := gittest.New(t)
	ann, annLine := remote.Key("ann")
	eve, _ := remote.Key("eve")
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(signers, []byte(annLine), 0o600); err != nil {
		t.Fatal(err)
	}
	remote.Write("a.hcl", "# one")
	remote.Push(ann)
	r := open(t, remote, "?ref=main", signers)
	served := serve(t, r)
	refused := func(commit, reason string) {
		t.Helper()
		dir, got, err := r.Fetch(t.Context())
		if err == nil || dir != "" || got != commit || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q, %s, %v", dir, got, err)
		}
		if now, ok := r.Served(t.Context()); !ok || now != served {
			t.Errorf("served is %s, %v", now, ok)
		}
	}
	remote.Write("a.hcl", "# unsigned")
	refused(remote.Push(), "no signature by a key of")
	remote.Write("a.hcl", "# by another key")
	refused(remote.Push(eve), "no signature by a key of")
	remote.Write("a.hcl", "# signed again")
	if commit := remote.Push(ann); CommitOf(fetch(t, r)) != commit {
		t.Error("a signed commit after refused ones is not accepted")
	}
	served = serve(t, r)
	remote.Git("reset", "-q", "--hard", "HEAD~3")
	refused(remote.PushHead(), "does not descend from the served commit "+CommitOf(served))
	remote.Git("checkout", "-q", "--orphan", "other")
	refused(remote.Push(ann), "does not descend")

	// Another process, later, knows what was served.
	again, err := Open(r.Location, r.home, signers)
	if err != nil {
		t.Fatal(err)
	}
	r = again
	refused(strings.TrimSpace(remote.Git("rev-parse", "HEAD")), "does not descend")
	if err := os.WriteFile(signers, []byte("nobody@example.org ssh-ed25519 AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, ok := r.Served(t.Context()); ok {
		t.Errorf("%s is served although its key is no longer allowed", dir)
	}
}

func TestARefusedSignatureIsExplained(t *testing.T) {
	remote := gittest.New(t)
	ann, line := remote.Key("ann")
	name, key, _ := strings.Cut(line, " ")
	remote.Write("a.hcl", "# one")
	remote.Push(ann)
	for content, want := range map[string]string{
		"# nobody":                               "No principal matched",
		name + ` valid-before="20200101" ` + key: `:1: key has expired: verify time `,
		name + ` namespaces="file" ` + key:       `:1: key is not permitted for use in signature namespace "git"`,
		"# ann\n" + name + " ssh-ed25519":        `:2: `,
	} {
		signers := filepath.Join(t.TempDir(), "allowed_signers")
		if err := os.WriteFile(signers, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := open(t, remote, "", signers)
		_, _, err := r.Fetch(t.Context())
		if err == nil || !strings.Contains(err.Error(), "it has no signature by a key of "+signers+": ") ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Good") {
			t.Errorf("with %q: %v", content, err)
		}
		os.Remove(signers)
		if _, _, err := r.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "No such file or directory") {
			t.Errorf("without the file: %v", err)
		}
	}
}

func TestSignaturesOfAKeyringAreNotAccepted(t *testing.T) {
	remote := gittest.New(t)
	_, line := remote.Key("ann")
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(signers, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	// The user's configuration names a program that accepts every signature of OpenPGP.
	gpg := filepath.Join(t.TempDir(), "gpg")
	script := "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] GOODSIG 0123456789ABCDEF Eve\\n[GNUPG:] TRUST_ULTIMATE 0 pgp\\n'\n"
	if err := os.WriteFile(gpg, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	remote.Git("config", "--global", "gpg.program", gpg)
	remote.Write("a.hcl", "# by a keyring")
	remote.Git("add", "-A")
	remote.Git("commit", "-q", "-m", "one")
	object := remote.Git("cat-file", "commit", "HEAD")
	head, message, _ := strings.Cut(object, "\n\n")
	signed := head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\n" + message
	remote.Write("object", signed)
	commit := strings.TrimSpace(remote.Git("hash-object", "-t", "commit", "-w", "object"))
	remote.Git("verify-commit", commit)
	remote.Git("reset", "-q", "--hard", commit)
	remote.PushHead()
	r := open(t, remote, "?ref=main", signers)
	if dir, _, err := r.Fetch(t.Context()); err == nil {
		t.Errorf("%s is accepted", dir)
	}
}

func TestHostileRevisionsAreRefusedAndWriteNothing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*gittest.Remote)
		reason string
	}{
		"link to a file of the machine": {func(r *gittest.Remote) {
			if err := os.Symlink("/etc/passwd", filepath.Join(r.Dir, "prod/policy.hcl")); err != nil {
				t.Fatal(err)
			}
		}, "prod/policy.hcl is a symbolic link"},
		"link to a folder": {func(r *gittest.Remote) {
			if err := os.Symlink("/etc", filepath.Join(r.Dir, "prod/etc")); err != nil {
				t.Fatal(err)
			}
		}, "prod/etc is a symbolic link"},
		"submodule": {func(r *gittest.Remote) {
			r.Git("init", "-q", "prod/sub")
			r.Git("-C", "prod/sub", "-c", "user.name=Ann", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "one")
			r.Write(".gitmodules", "[submodule \"prod/sub\"]\n\tpath = prod/sub\n\turl = ext::sh -c touch% owned\n")
		}, "prod/sub is a submodule"},
		"line break in a name": {func(r *gittest.Remote) { r.Write("prod/a\r\nb.hcl", "# a") }, "is not accepted"},
		"10,001 files": {func(r *gittest.Remote) {
			for i := range maxFiles {
				r.Write(fmt.Sprintf("prod/f%d.txt", i), "x")
			}
		}, "more than 10000 files"},
		"65 MiB in small packs": {func(r *gittest.Remote) {
			for i := range 65 {
				r.Write(fmt.Sprintf("prod/f%d.txt", i), strings.Repeat("x", 1<<20))
			}
		}, "more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			remote := gittest.New(t)
			remote.Write("prod/a.hcl", "# one")
			remote.Push()
			r := open(t, remote, "", "")
			served := serve(t, r)
			test.change(remote)
			commit := remote.Push()
			dir, got, err := r.Fetch(t.Context())
			if err == nil || dir != "" || got != commit || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("%q, %s, %v", dir, got, err)
			}
			if entries, _ := os.ReadDir(r.revisions()); len(entries) != 1 || entries[0].Name() != CommitOf(served) {
				t.Errorf("the folder has %v", entries)
			}
		})
	}
}

func TestFetchEndsWhenAPackIsTooLarge(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	r := open(t, remote, "", "")
	served := serve(t, r)
	r.maxPack = 1 << 20
	noise := make([]byte, 2<<20)
	rand.NewChaCha8([32]byte{}).Read(noise) // which does not compress
	remote.Write("large.bin", string(noise))
	remote.Push()
	if dir, _, err := r.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "it has more than 1 MiB") {
		t.Errorf("%q, %v", dir, err)
	}
	if dir, ok := r.Served(t.Context()); !ok || dir != served {
		t.Errorf("served is %q", dir)
	}
	if _, _, err := r.Fetch(t.Context()); err == nil {
		t.Error("the large commit is fetched the second time")
	}
	if left := partialObjects(r); len(left) > 1 {
		t.Errorf("each fetch leaves a partial object: %q", left)
	}
	remote.Git("rm", "-q", "--cached", "large.bin")
	if err := os.Remove(filepath.Join(remote.Dir, "large.bin")); err != nil {
		t.Fatal(err)
	}
	if commit := remote.Push(); CommitOf(fetch(t, r)) != commit {
		t.Error("a smaller commit is not fetched afterwards")
	}
	if left := partialObjects(r); len(left) > 0 {
		t.Errorf("partial objects are left: %q", left)
	}
}

func partialObjects(r *Repository) []string {
	left, _ := filepath.Glob(filepath.Join(r.objects(), "objects/*/tmp_*"))
	return left
}

// TestFetchRemovesTheLocksOfAKilledGit also has the partial pack of a killed garbage collection.
func TestFetchRemovesTheLocksOfAKilledGit(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	r := open(t, remote, "", "")
	serve(t, r)
	for _, name := range []string{"config.lock", "shallow.lock", "refs/hatchel/fetched.lock", "refs/hatchel/served.lock",
		"gc.pid", "objects/pack/.tmp-1-pack-2.pack"} {
		if err := os.WriteFile(filepath.Join(r.objects(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if commit := remote.Push(); CommitOf(serve(t, r)) != commit {
		t.Error("the commit is not fetched")
	}
	for _, name := range []string{"gc.pid", "objects/pack/.tmp-1-pack-2.pack"} {
		if _, err := os.Stat(filepath.Join(r.objects(), name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func TestSettingsOfARepositoryAndOfTheEnvironmentHaveNoEffect(t *testing.T) {
	remote := gittest.New(t)
	owned := filepath.Join(t.TempDir(), "owned")
	touch := filepath.Join(t.TempDir(), "touch.sh")
	if err := os.WriteFile(touch, []byte("#!/bin/sh\ntouch "+owned+"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	hooks := t.TempDir()
	for _, hook := range []string{"reference-transaction", "post-checkout", "post-merge", "pre-auto-gc"} {
		if err := os.Symlink(touch, filepath.Join(hooks, hook)); err != nil {
			t.Fatal(err)
		}
	}
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	remote.Write("a.hcl", "# one $Id$ $Format:%H$\n")
	remote.Write("b.bin", pointer)
	remote.Write("removed.hcl", "# kept\n")
	remote.Write("sub/.gitattributes", "* filter=evil\n")
	remote.Git("add", "-A")
	remote.Write(".gitattributes", "* filter=evil ident export-subst\nb.bin filter=lfs\nremoved.hcl export-ignore\n*.hcl text eol=crlf\n")
	remote.Git("commit", "-q", "-m", "without filters")
	remote.Push()
	for key, value := range map[string]string{
		"core.hooksPath": hooks, "core.fsmonitor": touch, "filter.evil.smudge": touch, "filter.lfs.smudge": touch,
		"filter.evil.process": touch, "filter.evil.required": "true",
	} {
		remote.Git("config", "--global", key, value)
	}
	for name, value := range map[string]string{
		"GIT_DIR": "/nonexistent", "GIT_WORK_TREE": "/nonexistent", "GIT_EXTERNAL_DIFF": touch, "GIT_SSL_NO_VERIFY": "1",
		"GIT_TRACE": owned, "GIT_PROXY_COMMAND": touch, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.pager",
		"GIT_CONFIG_VALUE_0": touch, "GIT_EXEC_PATH": "/nonexistent", "GIT_TEMPLATE_DIR": hooks,
	} {
		t.Setenv(name, value)
	}
	dir := serve(t, open(t, remote, "", ""))
	if got := read(t, dir, "a.hcl"); got != "# one $Id$ $Format:%H$\n" {
		t.Errorf("the file has %q", got)
	}
	if read(t, dir, "b.bin") != pointer || read(t, dir, "removed.hcl") != "# kept\n" {
		t.Error("the other files are changed")
	}
	if _, err := os.Stat(owned); err == nil {
		t.Error("a program or a trace of the configuration was used")
	}
	t.Setenv("GIT_SSL_CAINFO", "/dev/null")
	if _, _, err := open(t, remote, "", "").Fetch(t.Context()); err == nil {
		t.Error("a certificate that nobody trusts is accepted")
	}
}

func TestFetchFollowsNoRedirect(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	r := open(t, remote, "", "")
	fetch(t, r)
	remote.Redirects.Store(true)
	if _, _, err := r.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "302") {
		t.Error(err)
	}
}

func TestConfigurationCannotChooseAnotherTransport(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	remote.Git("config", "--global", "url.ext::sh -c touch% owned .insteadOf", remote.URL)
	if _, _, err := open(t, remote, "", "").Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "transport 'ext' not allowed") {
		t.Errorf("the transport of a rewritten URL: %v", err)
	}
}

func TestFetchThatHangsIsCancelled(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	r := open(t, remote, "", "")
	served := serve(t, r)
	remote.Hangs.Store(true)
	r.timeout = 300 * time.Millisecond
	if _, _, err := r.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "git did not end in time") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	if _, _, err := r.Fetch(ctx); err == nil {
		t.Error("a fetch that was cancelled succeeds")
	}
	remote.Hangs.Store(false)
	r.timeout = time.Minute
	if fetch(t, r) != served {
		t.Error("the repository is not fetched afterwards")
	}
}

func TestProcessesShareTheFolder(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	first := open(t, remote, "", "")
	dirs := make(chan string)
	for range 4 {
		other, err := Open(first.Location, first.home, "")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			dir, _, err := other.Fetch(t.Context())
			if err == nil {
				err = other.Serve(t.Context(), dir)
			}
			if err != nil {
				t.Error(err)
			}
			dirs <- dir
		}()
	}
	for range 4 {
		if dir := <-dirs; read(t, dir, "a.hcl") != "# one" {
			t.Error(dir)
		}
	}
}

func TestUnusedRevisionsAreRemoved(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("prod/a.hcl", "# one")
	remote.Push()
	r := open(t, remote, "", "")
	dir := serve(t, r)
	old := time.Now().Add(-2 * unusedAfter)
	remote.Push()
	serve(t, r)
	if _, err := os.Stat(dir); err != nil {
		t.Error("a revision that calls may still use is removed")
	}
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	fetch(t, r)
	if _, err := os.Stat(dir); err == nil {
		t.Error("an unused revision is kept")
	}
}

func TestARevisionThatAProcessMarksIsKept(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("a.hcl", "# one")
	remote.Push()
	r := open(t, remote, "", "")
	other, err := Open(r.Location, r.home, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := serve(t, r)
	remote.Push()
	serve(t, other)
	old := time.Now().Add(-2 * unusedAfter)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	r.MarkUsed()
	fetch(t, other)
	if _, err := os.Stat(dir); err != nil {
		t.Error("another process removes the served revision")
	}
}

func TestFetchWithoutGitSaysSo(t *testing.T) {
	r := open(t, gittest.New(t), "", "")
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(sh, filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if _, _, err := r.Fetch(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "the program git is not found") {
		t.Error(err)
	}
}

var revisions = flag.Int("revisions", 12, "how many revisions are served one after the other")

func TestTheDiskOfManyRevisionsIsBounded(t *testing.T) {
	remote := gittest.New(t)
	content := make([]byte, 128<<10)
	var r *Repository
	var most int64
	for i := range *revisions {
		rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(content) // which does not compress
		remote.Write("large.bin", string(content))
		remote.Push()
		if r == nil {
			r = open(t, remote, "?ref=main", "")
		}
		dir := serve(t, r)
		old := time.Now().Add(-2 * unusedAfter) // the next one is served much later
		r.commit, r.fetched = "", ""
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
		var size int64
		filepath.WalkDir(r.home, func(_ string, e fs.DirEntry, err error) error {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
			return nil
		})
		most = max(most, size)
	}
	entries, err := os.ReadDir(r.revisions())
	if err != nil || len(entries) > 2 {
		t.Errorf("%d revisions are kept, %v", len(entries), err)
	}
	if limit := int64(10 * len(content)); most > limit {
		t.Errorf("%d revisions of %d KiB used up to %d KiB", *revisions, len(content)>>10, most>>10)
	}
}
