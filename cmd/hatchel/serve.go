package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/runtime"
	"hatchel/runtime/hold"
	"hatchel/runtime/logging"
	"hatchel/runtime/mcp"
	"hatchel/runtime/server"
	"hatchel/runtime/source"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	loadFlags
	logFlags
	stdio    bool
	toolset  string
	listen   string
	state    string
	watch    bool
	hold     string
	locked   bool
	insecure bool // serve other machines without authentication
	drain    time.Duration
}

func serveCommand() *cobra.Command {
	f := new(serveFlags)
	cmd := folderArg(&cobra.Command{
		Use:   "serve [DIR]",
		Short: "Serve a configuration directory and reload it when a file changes",
		Long: `Serve the tools, prompts and resources of a configuration directory over
Streamable HTTP, or with --stdio to one client over standard input and output.

The server reloads the directory when a file changes, on SIGHUP, and on
POST /admin/reload. A reload never interrupts active calls. A configuration with
errors is reported, and the last valid configuration stays active.

With --hold a reload waits while its differences to hatchel.lock.json are of a class,
until hatchel lock, or a merge, brings the new lock. With --locked the server does
not start with a difference, and every reload with one waits.

SIGUSR1 turns the log level debug on and off; POST /admin/log?level=LEVEL sets one.

On SIGINT and SIGTERM, /readyz answers 503. New calls are served for --drain, then
the listener closes, and the server ends when its active calls have ended, within 30
seconds. Connections that clients keep are closed after their next response, or when
they were idle for 5 seconds. A second signal cancels the active calls.

Endpoints: /mcp, /mcp/NAME for each toolset, /files, /approvals, /healthz, /readyz,
/admin/reload and /admin/log. With an auth block every request is authenticated,
except /healthz and the status of /readyz, and /admin requires the group admin.
Without an auth block the server accepts connections from this machine only.`,
		Example: `  hatchel serve
  hatchel serve ./tools --listen 0.0.0.0:8080
  hatchel serve ./tools --stdio --toolset billing
  hatchel serve ./tools --hold breaking`,
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := f.logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer log.Flush()
			return f.logFailure(cmd.Context(), log, f.run(cmd, folderOf(cmd, args), log))
		},
	})
	f.loadFlags.register(cmd)
	f.logFlags.register(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&f.stdio, "stdio", false, "serve one client over standard input and output")
	fs.StringVar(&f.toolset, "toolset", "", "serve only the toolset `NAME`")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on for HTTP; port 0 selects a free port")
	fs.StringVar(&f.state, "state", "", "`FILE` for the persistent state: idempotency keys, tasks and approvals "+
		"(default: the state block, or a file in $STATE_DIRECTORY or ~/.local/state/hatchel)")
	fs.BoolVar(&f.insecure, "insecure-no-auth", false, "serve other machines without authentication: "+
		"anyone who can reach the address can call every tool")
	fs.BoolVar(&f.watch, "watch", true, "reload when a file changes")
	fs.StringVar(&f.hold, "hold", "", "`CLASS` of differences to hatchel.lock.json with which a reload waits: "+
		"breaking, widening, behaviour or any (default: hold of the server block)")
	completeWords(cmd, "hold", surface.Thresholds...)
	fs.BoolVar(&f.locked, "locked", false, "do not start with a difference to hatchel.lock.json")
	fs.DurationVar(&f.drain, "drain", 0, "`TIME` to serve new calls after the signal to stop")
	cmd.MarkFlagsMutuallyExclusive("stdio", "listen")
	cmd.MarkFlagsMutuallyExclusive("stdio", "drain")
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, path string, log *logging.Log) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	exposed, err := server.IsExposed(ctx, f.listen)
	if err != nil {
		return misusef("--listen: %s", err)
	}
	if f.hold != "" {
		if _, err := surface.ParseThreshold(f.hold); err != nil {
			return misusef("--hold: %s", err)
		}
	}
	folder, err := source.NewFolder(path)
	if err != nil {
		return failf("%s cannot be found: %s", path, reason(err))
	}
	options, err := f.options(folder, stderr)
	if err != nil {
		return err
	}
	state := server.NewState(f.state, folder.Dir())
	defer state.Close()
	audits := new(runtime.AuditLogs)
	if !f.stdio {
		audits.Stdout = cmd.OutOrStdout()
	}
	host := runtime.NewHost(ctx, runtime.HostOptions{
		Build: runtime.Build{
			Set: all.Set(), Dir: folder.Dir(), Version: release(), Log: log.Logger, AuditLogs: audits, State: state,
		},
		Load:  options,
		Grace: server.GracePeriod,
		Gate:  hold.Gate{Class: f.hold, Locked: f.locked},
	})
	defer host.Close()
	trimmer := newTrimmer()
	defer trimmer.Stop()
	reloader := &server.Reloader{Folder: folder, Host: host, Log: log.Logger, Loaded: func(report runtime.Report) {
		trimmer.Reset(trimAfterLoads)
		f.printDiagnostics(cmd, path, log, report)
	}}
	if err := loadFirst(cmd, reloader, path); err != nil {
		return err
	}
	if host.Info(f.toolset) == nil {
		return unknownToolset(path, f.toolset, host)
	}
	if err := f.checkAuth(cmd, path, log, host, exposed); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(reloader.Run(ctx))
	background.Go(log.OnUserSignal(ctx))
	if f.watch {
		background.Go(func() { folder.Watch(ctx, func() { reloader.Reload(ctx, "file changed") }) })
	}
	o := server.Options{
		Host: host, Reloader: reloader, Log: log, Toolset: f.toolset, RequireAuth: exposed && !f.stdio && !f.insecure,
		Drain: f.drain,
	}
	if !f.stdio {
		if o.Sessions, err = state.Sessions(ctx, log.Logger); err != nil {
			return failf("%s", err)
		}
	}
	return f.serve(ctx, cmd, path, server.New(o))
}

// loadFirst loads the directory for the first time. Diagnostics are printed by the reloader.
func loadFirst(cmd *cobra.Command, reloader *server.Reloader, path string) error {
	stop := showSpinner(cmd.ErrOrStderr(), "loading "+path)
	report, err := reloader.Load(cmd.Context())
	stop()
	switch {
	case err != nil:
		return failf("%s cannot be read: %s", path, reason(err))
	case !report.OK:
		return failf("%s has %s and is not served", folderName(path), countDiagnostics(report.Diagnostics))
	}
	return nil
}

// maxServeWarnings is how many warnings of a load serve prints.
const maxServeWarnings = 20

// capWarnings returns the diagnostics without the warnings after the first ones, and how many those are.
func capWarnings(diags hcl.Diagnostics) (kept hcl.Diagnostics, omitted int) {
	_, warnings := diags.Counts()
	shown := 0
	for _, d := range diags {
		if d.Severity == hcl.Error || shown < maxServeWarnings {
			kept = append(kept, d)
		}
		if d.Severity != hcl.Error {
			shown++
		}
	}
	return kept, max(0, warnings-maxServeWarnings)
}

// printDiagnostics reports the diagnostics of a load: to a person on the terminal, to a program in
// the log.
func (f *serveFlags) printDiagnostics(cmd *cobra.Command, path string, log *logging.Log, report runtime.Report) {
	kept, omitted := capWarnings(report.Diagnostics)
	more := ""
	if omitted > 0 {
		more = fmt.Sprintf("%s more: hatchel validate %s shows all", plural(omitted, "warning"), path)
	}
	switch {
	case len(kept) == 0:
	case f.isText():
		diags, sources := prefixPaths(path, kept, report.Sources)
		diags.Print(cmd.ErrOrStderr(), sources)
		if more != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: "+more)
		}
	case report.OK:
		log.Warn("configuration has warnings", "diagnostics", kept, "omitted", more)
	default:
		log.Error("configuration has errors", "diagnostics", kept, "omitted", more)
	}
}

// checkAuth refuses to serve other machines without authentication, unless --insecure-no-auth is
// set.
func (f *serveFlags) checkAuth(
	cmd *cobra.Command, path string, log *logging.Log, host *runtime.Host, exposed bool,
) error {
	switch {
	case f.stdio || !exposed || host.Authenticator() != nil:
		return nil
	case f.insecure:
		f.announce(log, cmd.ErrOrStderr(), fmt.Sprintf(
			"hatchel: WARNING: --insecure-no-auth: anyone who can reach %s can call every tool of %s", f.listen, path))
		return nil
	}
	return misusef("--listen %s accepts connections from other machines, but %s declares no authentication: "+
		"declare auth { api_key \"name\" { … } }, listen on 127.0.0.1, or allow everyone with --insecure-no-auth",
		f.listen, path)
}

// serve serves until ctx ends, or over standard input and output until the client has gone.
func (f *serveFlags) serve(ctx context.Context, cmd *cobra.Command, path string, s *server.Server) error {
	g := s.Host.Current()
	tools, prompts := g.Count(f.toolset, mcp.Tools), g.Count(f.toolset, mcp.Prompts)
	resources := g.Count(f.toolset, mcp.Resources) + g.Count(f.toolset, mcp.Templates)
	if tools+prompts+resources == 0 {
		s.Log.Warn("configuration declares no tools, prompts or resources", "directory", s.Reloader.Folder.Dir())
	}
	ready := fmt.Sprintf("hatchel: serving %s from %s", countCapabilities(tools, prompts, resources), path)
	force, stop := secondSignal(ctx)
	defer stop()
	if f.stdio {
		f.announce(s.Log, cmd.ErrOrStderr(), ready+" over stdio")
		in, restore := mcp.Stdin()
		defer restore()
		if err := s.ServeStdio(ctx, force, in, os.Stdout); err != nil {
			return failf("the connection to the client failed: %s", reason(err))
		}
		return nil
	}
	listener, err := server.Listen(ctx, f.listen)
	if err != nil {
		return failf("%s", err)
	}
	scheme := "http"
	if s.Host.Certificates() != nil {
		scheme = "https"
	}
	f.announce(s.Log, cmd.ErrOrStderr(), fmt.Sprintf("%s at %s://%s/mcp", ready, scheme, listener.Addr()))
	switch err := s.Serve(ctx, force, listener); {
	case errors.Is(err, server.ErrCallsCancelled):
		return failf("stopped before all active calls had ended")
	case err != nil:
		return failf("%s: %s", f.listen, reason(err))
	}
	return nil
}

// secondSignal returns a context that ends at the second SIGINT or SIGTERM from now on; the first
// one ends ctx. It must be called before the first signal: main restores the default action then,
// which would leave the programs of calls running.
func secondSignal(ctx context.Context) (force context.Context, stop context.CancelFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	force, stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer stop()
		defer signal.Stop(signals)
		for range 2 {
			select {
			case <-signals:
			case <-force.Done():
				return
			}
		}
	}()
	return force, stop
}

// unknownToolset returns the error for a --toolset that the configuration does not declare.
func unknownToolset(path, name string, host *runtime.Host) error {
	toolsets := host.Current().Config.Toolsets
	if len(toolsets) == 0 {
		return failf("%s declares no toolsets", path)
	}
	names := make([]string, len(toolsets))
	for i, t := range toolsets {
		names[i] = t.Name
	}
	return failf("%s declares no toolset %q. It declares %s", path, name, strings.Join(names, ", "))
}
