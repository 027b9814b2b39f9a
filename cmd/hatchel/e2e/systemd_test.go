package e2e_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hatchel/cmd/hatchel/exit"
	"hatchel/internal/programtest"
)

const unitConfig = `
tool "ping" {
  description = "Answer."
  text        = "ping"
}
`

// unit is a server process as systemd starts it.
type unit struct {
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

// startUnit starts a server with sockets that systemd has passed.
func startUnit(t *testing.T, dir string, env []string, sockets []*os.File, flags ...string) *unit {
	t.Helper()
	// systemd sets LISTEN_PID between fork and exec
	script := `[ $0 = 0 ] || export LISTEN_PID=$$ LISTEN_FDS=$0; exec hatchel serve "$@"`
	args := append([]string{"-c", script, fmt.Sprint(len(sockets)), dir}, flags...)
	u := &unit{exec.Command("sh", args...), new(bytes.Buffer)}
	u.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	u.cmd.ExtraFiles, u.cmd.Stderr = sockets, u.stderr
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.cmd.Process.Kill() })
	return u
}

// stop sends SIGTERM and waits until the server has ended.
func (u *unit) stop(t *testing.T) {
	t.Helper()
	u.cmd.Process.Signal(syscall.SIGTERM)
	if err := u.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, u.stderr)
	}
}

func writeUnitConfig(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(unitConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// notifySocket is the socket to which a service sends its notifications.
func notifySocket(t *testing.T) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(programtest.Timeout))
	return conn
}

// awaitNotification returns the first notification that matches.
func awaitNotification(t *testing.T, conn *net.UnixConn, pattern string) string {
	t.Helper()
	var seen []string
	for buffer := make([]byte, 4096); ; {
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatalf("no notification %s, only %q", pattern, seen)
		}
		seen = append(seen, string(buffer[:n]))
		if regexp.MustCompile(pattern).Match(buffer[:n]) {
			return seen[len(seen)-1]
		}
	}
}

func TestSystemdIsNotifiedOfStartReloadAndStop(t *testing.T) {
	t.Parallel()
	dir, conn := writeUnitConfig(t), notifySocket(t)
	u := startUnit(t, dir, []string{"NOTIFY_SOCKET=" + conn.LocalAddr().String()}, nil, "--listen", "127.0.0.1:0", "--watch=false")
	awaitNotification(t, conn, `^READY=1\nSTATUS=1 tool, revision [0-9a-f]+$`)
	for _, text := range []string{unitConfig + strings.ReplaceAll(unitConfig, "ping", "pong"), "tool {"} {
		if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		u.cmd.Process.Signal(syscall.SIGHUP)
		awaitNotification(t, conn, `^RELOADING=1\nMONOTONIC_USEC=[0-9]+\n$`)
		want := `^READY=1\nSTATUS=2 tools, revision [0-9a-f]+$`
		if text == "tool {" {
			want = strings.TrimSuffix(want, "$") + ", stale$"
		}
		awaitNotification(t, conn, want)
	}
	u.cmd.Process.Signal(syscall.SIGTERM)
	awaitNotification(t, conn, `^STOPPING=1\n`)
	u.stop(t)
}

func TestTheWatchdogIsNotifiedInItsInterval(t *testing.T) {
	t.Parallel()
	conn := notifySocket(t)
	u := startUnit(t, writeUnitConfig(t), []string{"NOTIFY_SOCKET=" + conn.LocalAddr().String(), "WATCHDOG_USEC=200000"}, nil,
		"--listen", "127.0.0.1:0")
	awaitNotification(t, conn, "^READY=1")
	for range 3 {
		awaitNotification(t, conn, `^WATCHDOG=1\nSTATUS=1 tool, revision [0-9a-f]+$`)
	}
	u.stop(t)
}

func TestAServerOverStdioNotifiesNobody(t *testing.T) {
	t.Parallel()
	conn := notifySocket(t)
	u := startUnit(t, writeUnitConfig(t), []string{"NOTIFY_SOCKET=" + conn.LocalAddr().String(), "WATCHDOG_USEC=2000"}, nil, "--stdio")
	if err := u.cmd.Wait(); err != nil { // its input has ended
		t.Error(err)
	}
	conn.SetReadDeadline(time.Now())
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes were sent", n)
	}
}

func listenTCP(t *testing.T) (listener *net.TCPListener, socket *os.File) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	if socket, err = listener.File(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return listener, socket
}

func TestNoConnectionIsRefusedWhileAServerWithAPassedSocketRestarts(t *testing.T) {
	t.Parallel()
	listener, socket := listenTCP(t)
	dir, url := writeUnitConfig(t), "http://"+listener.Addr().String()
	u := startUnit(t, dir, nil, []*os.File{socket})
	var failed, answered atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		for {
			response, err := client.Get(url + "/healthz")
			if err != nil {
				t.Log(err)
				failed.Add(1)
			} else {
				response.Body.Close()
				answered.Add(1)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for range 4 {
		before := answered.Load()
		await(t, func() bool { return answered.Load() > before+20 })
		u.stop(t)
		u = startUnit(t, dir, nil, []*os.File{socket})
	}
	close(stop)
	<-done
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), failed.Load()+answered.Load())
	}
	u.stop(t)
}

func TestSystemdSocketActivateStartsTheServer(t *testing.T) {
	t.Parallel()
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("there is no systemd-socket-activate")
	}
	listener, socket := listenTCP(t)
	address := listener.Addr().String()
	listener.Close()
	socket.Close()
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	stderr := new(bytes.Buffer)
	cmd := exec.Command(activate, "-l", address, "-E", "HOME="+t.TempDir(), hatchel, "serve", writeUnitConfig(t))
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	await(t, func() bool { return !isRefused(address) })
	client := newProtocolClient("http://"+address, false)
	if _, err := client.call("ping"); err != nil {
		t.Error(err)
	}
	client.transport.CloseIdleConnections()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	if want := "at http://" + address + "/mcp"; !strings.Contains(stderr.String(), want) {
		t.Errorf("no %q in %s", want, stderr)
	}
}

func TestPassedSocketsThatCannotBeServedAreRefused(t *testing.T) {
	t.Parallel()
	listener, socket := listenTCP(t)
	everywhere, err := net.ListenTCP("tcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer everywhere.Close()
	exposed, err := everywhere.File()
	if err != nil {
		t.Fatal(err)
	}
	local, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	unix, err := local.File()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		sockets []*os.File
		flags   []string
		code    int
		want    string
	}{
		"two":     {[]*os.File{socket, socket}, nil, exit.Failed, "systemd has passed 2 sockets"},
		"unix":    {[]*os.File{unix}, nil, exit.Failed, "accepts no TCP connections"},
		"flag":    {[]*os.File{socket}, []string{"--listen", "127.0.0.1:1"}, exit.Usage, "systemd has passed a socket at " + listener.Addr().String()},
		"exposed": {[]*os.File{exposed}, nil, exit.Usage, "the socket of systemd at [::]:"},
	} {
		t.Run(name, func(t *testing.T) {
			u := startUnit(t, writeUnitConfig(t), nil, test.sockets, test.flags...)
			u.cmd.Wait()
			if code := u.cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(u.stderr.String(), test.want) {
				t.Errorf("exit code %d: %s", code, u.stderr)
			}
		})
	}
}
