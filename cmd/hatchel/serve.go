package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// drainTime is how long calls have to end when the server is told to stop.
const drainTime = 30 * time.Second

// serving are the flags of serve.
type serving struct {
	loading
	stdio     bool
	toolset   string
	listen    string
	state     string
	watch     bool
	logLevel  string
	logFormat string
}

func serveCommand() *cobra.Command {
	s := new(serving)
	cmd := folderArg(&cobra.Command{
		Use:   "serve [DIR]",
		Short: "Serve the tools of a folder, and reload them when a file changes",
		Long: `Serve the tools of a folder over Streamable HTTP, or with --stdio over standard input and output.

A file that changes is loaded at once, without dropping a call. An edit that does not load changes nothing: it is printed, and
/readyz shows it. SIGHUP and POST /admin/reload load the folder, too. SIGINT and SIGTERM let calls end, a second one does not.

Endpoints: /mcp, /mcp/NAME for each toolset, /healthz, /readyz, and /admin/reload for this machine only.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := s.logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return s.said(cmd.Context(), log, s.run(cmd, folderOf(args), log))
		},
	})
	s.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&s.stdio, "stdio", false, "serve one client over standard input and output")
	f.StringVar(&s.toolset, "toolset", "", "serve nothing but the toolset `name`")
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to serve HTTP on; port 0 takes a free one")
	f.StringVar(&s.state, "state", "", "`file` for what outlives the process: keys, tasks, what waits for an answer; by default one for the folder, in $STATE_DIRECTORY or ~/.local/state/hatchel")
	f.BoolVar(&s.watch, "watch", true, "reload when a file changes")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	cmd.MarkFlagsMutuallyExclusive("stdio", "listen")
	cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *serving) run(cmd *cobra.Command, path string, log *slog.Logger) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	folder, err := runtime.NewFolder(path)
	if err != nil {
		return failf("%s cannot be found: %s", path, reason(err))
	}
	if err := loopbackOnly(ctx, s.listen); err != nil {
		return err
	}
	options, err := s.options(folder.Dir(), stderr)
	if err != nil {
		return err
	}
	state := stateOf(s.state, folder.Dir())
	defer state.Close()
	host := runtime.NewHost(ctx, runtime.HostOptions{
		Build: runtime.Build{Set: all.Set(), Dir: folder.Dir(), Version: release(), Log: log, State: state},
		Load:  options,
		Grace: drainTime,
	})
	defer host.Close()
	r := &reloader{path: path, folder: folder, host: host, log: log, stderr: stderr, plain: s.logFormat == "text", trimmer: newTrimmer()}
	defer r.trimmer.stop()
	done := spin(stderr, "loading "+path)
	first, err := r.reload(ctx)
	done()
	if err != nil {
		return failf("%s cannot be read: %s", path, reason(err))
	}
	if !first.OK {
		return failf("%s has %s, and is not served", path, counted(first.Diagnostics))
	}
	if host.Info(s.toolset) == nil {
		return noToolset(path, s.toolset, host)
	}
	server := mcp.New(host, mcp.Options{Logger: log})
	host.Tell(server)
	var background sync.WaitGroup
	defer background.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	background.Go(func() { r.onHangup(ctx) })
	if s.watch {
		background.Go(func() { folder.Watch(ctx, func() { r.again(ctx, "a file changed") }) })
	}
	offered := offerOf(ctx, host, s.toolset)
	if offered.empty() {
		log.Warn("there is nothing to serve: no .hcl file of the folder declares a tool, a prompt or a resource", "folder", folder.Dir())
	}
	ready := fmt.Sprintf("hatchel: serving %s from %s", offered, path)
	if s.stdio {
		s.say(ctx, log, stderr, ready+" over stdio")
		return s.serveStdio(ctx, server, host)
	}
	e := &endpoints{mcp: server, toolset: s.toolset, host: host, reloader: r, stopping: ctx.Done()}
	return s.serveHTTP(ctx, server, e, func(addr net.Addr) {
		s.say(ctx, log, stderr, fmt.Sprintf("%s at http://%s/mcp", ready, addr))
	})
}

// say is a line that is wanted at every level of the log.
func (s *serving) say(ctx context.Context, log *slog.Logger, stderr io.Writer, line string) {
	if s.logFormat == "text" {
		fmt.Fprintln(stderr, line)
		return
	}
	// The handler is asked itself, past its level.
	log.Handler().Handle(ctx, slog.NewRecord(time.Now(), slog.LevelInfo, line, 0))
}

// said puts the reason of a failure where the log goes, when programs read that.
func (s *serving) said(ctx context.Context, log *slog.Logger, err error) error {
	var failed *failure
	if s.logFormat == "text" || !errors.As(err, &failed) || failed.text == "" {
		return err
	}
	log.ErrorContext(ctx, "hatchel: "+failed.text)
	return &failure{code: failed.code}
}

func (s *serving) logger(stderr io.Writer) (*slog.Logger, error) {
	var level slog.Level
	switch s.logLevel {
	case "debug", "info", "warn", "error":
		level.UnmarshalText([]byte(s.logLevel))
	default:
		return nil, misusef("--log-level is debug, info, warn or error, and got %q", s.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), nil
	}
	return nil, misusef("--log-format is text or json, and got %q", s.logFormat)
}

func (s *serving) serveStdio(ctx context.Context, server *mcp.Server, host *runtime.Host) error {
	stdin, restore := mcp.Stdin()
	defer restore()
	in := &watched{ReadCloser: stdin, ended: func() { time.AfterFunc(drainTime, host.Close) }}
	insisted, forget := insistence(ctx)
	defer forget()
	stop := context.AfterFunc(ctx, func() {
		if shutdown(insisted, server, host) != nil {
			host.Close()
		}
	})
	defer stop()
	// The streams outlive ctx: what is under way when it ends is answered first.
	if err := server.For(s.toolset).Serve(context.WithoutCancel(ctx), in, os.Stdout); err != nil {
		return failf("the client's streams broke: %s", reason(err))
	}
	return nil
}

// watched tells when its reader has ended: a client that is gone waits for its answers only so long.
type watched struct {
	io.ReadCloser
	ended func()
	once  sync.Once
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.once.Do(w.ended)
	}
	return n, err
}

func (s *serving) serveHTTP(ctx context.Context, server *mcp.Server, handler *endpoints, ready func(net.Addr)) error {
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return failf("cannot listen on %s: %s", s.listen, listenReason(err))
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(handler.reloader.log.Handler(), slog.LevelWarn)}
	insisted, forget := insistence(ctx)
	defer forget()
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	ready(listener.Addr())
	select {
	case err := <-served:
		return failf("the listener on %s broke: %s", s.listen, reason(err))
	case <-ctx.Done():
	}
	patience, cut := time.Second, shutdown(insisted, server, handler.host)
	if cut != nil {
		patience = 0
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if web.Shutdown(closing) != nil {
		web.Close()
	}
	<-served
	if cut != nil {
		return failf("stopped before the calls under way had ended")
	}
	return nil
}

// loopbackOnly refuses an address that other machines can reach.
func loopbackOnly(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return misusef("--listen takes host:port, as in 127.0.0.1:8080, and got %q", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return misusef("--listen: a port is a number from 0 to 65535, and got %q", port)
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if host != "" && err != nil {
		return misusef("--listen: there is no host %q", host)
	}
	reachable := host == ""
	for _, ip := range ips {
		reachable = reachable || !ip.IP.IsLoopback()
	}
	if reachable {
		return misusef("--listen %s could be reached from other machines, and callers cannot be authenticated yet: listen on 127.0.0.1, and put a proxy that authenticates in front of it", address)
	}
	return nil
}

func listenReason(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "the address is in use"
	case errors.Is(err, syscall.EACCES):
		return "permission denied"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

// reloader loads the folder, one load after another, whatever asked for it.
type reloader struct {
	path   string // of the folder, as it was given
	folder *runtime.Folder
	host   *runtime.Host
	log    *slog.Logger
	stderr io.Writer
	plain  bool // the log is read by people

	mu      sync.Mutex
	trimmer *trimmer
}

// reload loads what the folder holds now and prints what is wrong with it.
func (r *reloader) reload(ctx context.Context) (runtime.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := r.folder.Snapshot()
	if err != nil {
		return runtime.Report{}, err
	}
	r.host.Load(ctx, files)
	r.trimmer.soon()
	report := r.host.Status().Last
	switch {
	case len(report.Diagnostics) == 0:
	case r.plain:
		diags, sources := under(r.path, report.Diagnostics, report.Sources)
		diags.Print(r.stderr, sources)
	case report.OK:
		r.log.Warn("the configuration has warnings", "diagnostics", report.Diagnostics)
	default:
		r.log.Error("the configuration has errors", "diagnostics", report.Diagnostics)
	}
	return report, nil
}

// again is a reload of a running server, accounted for in the log.
func (r *reloader) again(ctx context.Context, why string) (runtime.Report, error) {
	report, err := r.reload(ctx)
	switch {
	case err != nil:
		r.log.Error("the folder cannot be read; the last good configuration is served on", "why", why, "error", reason(err))
	case !report.OK:
		r.log.Error("reload failed; the last good configuration is served on", "why", why, "found", counted(report.Diagnostics), "revision", report.Revision)
	default:
		r.log.Info("reloaded", "why", why, "revision", report.Revision, "added", strings.Join(report.Added, " "), "removed", strings.Join(report.Removed, " "),
			"changed", strings.Join(report.Changed, " "), "unchanged", report.Unchanged, "ms", report.Duration)
	}
	return report, err
}

func (r *reloader) onHangup(ctx context.Context) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-hangups:
			r.again(ctx, "SIGHUP")
		case <-ctx.Done():
			return
		}
	}
}
