package e2e_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/programtest"
)

func TestServeSaysAtStartThatAPasswordIsWrong(t *testing.T) {
	t.Parallel()
	address := os.Getenv("HATCHEL_TEST_MYSQL")
	if address == "" {
		t.Skip("HATCHEL_TEST_MYSQL is not set")
	}
	user, server, _ := strings.Cut(address, "@")
	user, _, _ = strings.Cut(user, ":")
	const tools = `
variable "url" { type = string }
connection "mysql" "shop" { url = var.url }
tool "now" {
  description = "Tell the time."
  sql "shop" { query = "SELECT now() AS now" }
}`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(tools), 0o644); err != nil {
		t.Fatal(err)
	}
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), hatchel, "serve", "--listen", "127.0.0.1:0", "--var", "url="+user+":wrong@"+server, dir)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	log := new(strings.Builder)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `level=WARN msg="connection failed" connection=mysql.shop error="no connection to the database: Access denied`) {
			return
		}
	}
	t.Errorf("the log does not say so:\n%s", log)
}

func TestServeSaysHowToChooseAnotherAddress(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	dir, address := t.TempDir(), busy.Addr().String()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte("server {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := runHatchel(t, "", "serve", "--listen", address, dir)
	if want := "cannot listen on " + address + ": the address is in use; choose another one, as in --listen "; code != 1 ||
		!strings.Contains(out, want) {
		t.Errorf("%d %s", code, out)
	}
}

func TestASignalEndsTheCommandOfASecret(t *testing.T) {
	t.Parallel()
	const tools = `secret "key" { command = ["sh", "-c", "touch began; exec sleep 600"] }`
	cmd, stderr, dir := startServe(t, tools, nil, "--allow-secret-commands")
	for end := time.After(programtest.Timeout); ; {
		if _, err := os.Stat(filepath.Join(dir, "began")); err == nil {
			break
		}
		select {
		case <-end:
			t.Fatal("the command does not begin")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if want := "hatchel: stopped before " + dir + " was served\n"; err != nil || stderr.String() != want {
		t.Errorf("%v\n%s", err, stderr)
	}
}

// startServe starts hatchel serve with a file of tools in a new directory.
func startServe(
	t *testing.T, tools string, env []string, flags ...string,
) (cmd *exec.Cmd, stderr *strings.Builder, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(tools), 0o644); err != nil {
		t.Fatal(err)
	}
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	stderr = new(strings.Builder)
	cmd = exec.CommandContext(t.Context(), hatchel, append([]string{"serve", "--listen", "127.0.0.1:0", dir}, flags...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr, dir
}

func TestASignalEndsTheWaitForTheState(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	const tools = `secret "state" { env = "STATE_DSN" }
state { postgres = secret.state }
`
	dsn := "STATE_DSN=postgres://hatchel@" + silent.Addr().String() + "/hatchel?connect_timeout=600"
	cmd, stderr, dir := startServe(t, tools, []string{dsn})
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if want := "hatchel: stopped before " + dir + " was served\n"; err != nil || stderr.String() != want {
		t.Errorf("%v\n%s", err, stderr)
	}
}
