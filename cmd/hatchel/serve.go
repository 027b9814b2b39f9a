package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/console"
	"hatchel/hcl/surface"
	"hatchel/internal/service"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/server"
	"hatchel/runtime/edge/signin/provider"
	"hatchel/runtime/load/hold"
	"hatchel/runtime/load/source"
	"hatchel/runtime/observe/logging"
	"hatchel/runtime/observe/metrics"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	loadFlags
	logFlags
	callerFlags
	stdio    bool
	toolset  string
	listen   string
	state    string
	watch    bool
	hold     string
	locked   bool
	insecure bool // serve other machines without authentication
	console  bool // serve the console without a block
	drain    time.Duration
	every    time.Duration
	signers  string

	filesPath string // with which the paths of diagnostics begin

	socket *net.TCPListener // passed by systemd, in place of listen; nil for none
}

func serveCommand() *cobra.Command {
	f := new(serveFlags)
	cmd := folderArg(&cobra.Command{
		Use:   "serve [DIR | git+https://HOST/REPOSITORY//FOLDER?ref=REF]",
		Short: "Serve a configuration directory and reload it when a file changes",
		Long: `Serve the tools, prompts and resources of a configuration directory over
Streamable HTTP, or with --stdio to one client over standard input and output.

The server reloads the directory when a file changes, on SIGHUP, and on
POST /admin/reload. A reload never interrupts active calls. A configuration with
errors is reported, and the last valid configuration stays active.

A folder of a git repository is fetched over https or ssh, or for trying from a
repository of this machine (git+file:///home/ann/tools//prod), at the start, after every
interval --every, on SIGHUP and on POST /admin/reload. A commit with errors is reported,
and the last valid commit stays active. With --signed-by the same applies to a commit
without a valid signature.

With --hold a reload waits if its differences to hatchel.lock.json have the given class
or a more serious one, until the lock file is updated. With --locked the server does not
start if there is a difference, and every reload with a difference waits.

SIGUSR1 turns the log level debug on and off; POST /admin/log?level=LEVEL sets one.

Over stdio the client proves nothing, so there is no caller. --subject, --group, --scope,
--claim and --header say who calls, for the client of the author: policies, scopes and
the session of a database apply as for such a caller of a server. The log says so at the
start, and each audit record names the user of this machine and the claims as the key of
the caller. Over HTTP, callers prove who they are with an auth block.

On SIGINT and SIGTERM, /readyz answers 503. New calls are served for --drain, then
the listener closes, and the server ends when its active calls have ended, within 30
seconds. A connection is closed after its next response, or when it has been idle for
5 seconds. A second signal cancels the active calls.

Under systemd with Type=notify the server reports its start, reloads, status and end,
and notifies the watchdog. It serves a socket that systemd passes, in place of --listen.

Endpoints: /mcp, /mcp/NAME for each toolset, /files, /approvals, /healthz, /readyz,
/metrics with a metrics block, /console/ with a console block or --console, /oauth and
/sign-ins with a sign_in block, /admin/reload and /admin/log, and at / a page that says
how to add the server to clients. With an auth block every request is authenticated,
except /healthz, the status of /readyz, and /oauth, where people and programs sign in;
/admin requires the group admin.
Without an auth block the server accepts connections from this machine only.`,
		Example: `  hatchel serve
  hatchel serve ./tools --listen 0.0.0.0:8080
  hatchel serve ./tools --stdio --toolset billing
  hatchel serve ./tools --stdio --subject ann --group finance --claim tenant=acme
  hatchel serve ./tools --hold breaking
  hatchel serve 'git+https://git.example/tools.git//prod?ref=main' --every 30s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			surviveClosedPipes()
			stderr := cmd.ErrOrStderr()
			log, err := f.logger(stderr)
			if err != nil {
				return err
			}
			defer log.Flush()
			cmd.SetErr(log) // all that is written to standard error goes through the log, which never waits long
			return f.logFailure(cmd.Context(), log, f.run(cmd, folderOf(cmd, args), log, stderr))
		},
	})
	f.loadFlags.register(cmd)
	f.registerSecretCommands(cmd)
	f.logFlags.register(cmd)
	f.callerFlags.register(cmd)
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
	fs.DurationVar(&f.drain, "drain", 0, "`TIME` for which new calls are served after the signal to stop")
	fs.BoolVar(&f.console, "console", false, "serve the console on this machine, also without a console block; "+
		"hatchel console opens it")
	fs.DurationVar(&f.every, "every", time.Minute, "`TIME` between two fetches of a git repository, from 1s to 1h")
	fs.StringVar(&f.signers, "signed-by", "", "`FILE` of allowed signers, as ssh-keygen reads it: serve only "+
		"commits that one of them has signed and that descend from the served commit")
	cmd.MarkFlagsMutuallyExclusive("stdio", "listen")
	cmd.MarkFlagsMutuallyExclusive("stdio", "console")
	cmd.MarkFlagsMutuallyExclusive("stdio", "drain")
	return cmd
}

// run serves a directory. The terminal shows that the first load takes a while, if it is one.
func (f *serveFlags) run(cmd *cobra.Command, path string, log *logging.Log, terminal io.Writer) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	identity, err := f.streamIdentity(cmd)
	if err != nil {
		return err
	}
	if err := f.takeSocket(cmd); err != nil {
		return err
	}
	exposed, err := server.IsExposed(ctx, f.listen)
	if err != nil {
		return misusef("--listen: %s", err)
	}
	if f.hold != "" {
		if _, err := surface.ParseThreshold(f.hold); err != nil {
			return misusef("--hold: %s", err)
		}
	}
	if f.console && exposed {
		return misusef("--console serves this machine only, and --listen %s accepts connections from others: declare "+
			"console {}", f.listen)
	}
	repository, home, err := f.openRepository(cmd, path)
	if err != nil {
		return err
	}
	folder, err := source.NewFolder(home)
	if err != nil {
		return failf("%s cannot be found: %s", path, reason(err))
	}
	var reloader *server.Reloader
	f.runsCommands, f.secretsChanged = true, func() { reloader.ReloadLocal(ctx, "secret changed") }
	options, err := f.options(ctx, folder, stderr)
	if err != nil {
		return err
	}
	services := service.NewList(ctx)
	defer services.Stop()
	state := server.NewState(ctx, f.state, folder.Dir())
	audits := new(runtime.AuditLogs)
	if !f.stdio {
		audits.Stdout = cmd.OutOrStdout()
	}
	host := runtime.NewHost(ctx, runtime.HostOptions{
		Build: runtime.Build{
			Set: all.Set(), Dir: folder.Dir(), Home: folder.Dir(), Version: release(),
			Log: log.Logger, LogDropped: log.Dropped,
			AuditLogs: audits, State: state, Metrics: new(metrics.Exporter),
			Console: &runtime.Console{Always: f.console}, SignIn: !f.stdio,
		},
		Load:  options,
		Grace: server.GracePeriod,
		Hold:  hold.Checker{Class: f.hold, Locked: f.locked},
	})
	trimmer := newTrimmer()
	services.Start(
		service.Service{Name: "state", Stop: state.Close},
		service.Ending("host", host.Close),
		service.Ending("trimmer", func() { trimmer.Stop() }),
		service.Ending("secret commands", f.commands.Close), // before the host that they reload
	)
	notifier := newSystemdNotifier(host, log.Logger)
	reloader = &server.Reloader{
		Folder: folder, Host: host, Log: log.Logger, Repository: repository, Every: f.every,
		Loading: func() func() {
			notify, forget := notifier.Reloading(), f.commands.Loading()
			return func() { forget(); notify() }
		},
		Loaded: func(report runtime.Report) {
			trimmer.Reset(trimAfterLoads)
			f.printDiagnostics(cmd, path, log, report)
		},
	}
	stop := context.AfterFunc(ctx, f.commands.Close)
	if err := loadFirst(cmd, reloader, path, terminal); err != nil {
		return err
	}
	trimLarge(trimmer)
	stop()
	if host.Info(f.toolset) == nil {
		return unknownToolset(path, f.toolset, host)
	}
	if err := f.checkAuth(path, log, host, exposed); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	services.Start(service.Ending("reloads", func() { cancel(); background.Wait() }))
	background.Go(reloader.Run(ctx))
	background.Go(log.OnUserSignal(ctx))
	if f.watch {
		background.Go(func() { folder.Watch(ctx, func() { reloader.ReloadLocal(ctx, "file changed") }) })
	}
	o := server.Options{
		Host: host, Reloader: reloader, Log: log, Toolset: f.toolset, RequireAuth: exposed && !f.stdio && !f.insecure,
		Drain: f.drain, StreamIdentity: identity,
	}
	if !f.stdio {
		switch o.Sessions, err = state.Sessions(ctx, log.Logger); {
		case err != nil && ctx.Err() != nil:
			return stoppedBefore(path)
		case err != nil:
			return failf("%s", err)
		}
	}
	if f.stdio {
		notifier = nil // the client has started the process, not systemd
	}
	background.Go(func() { notifier.RunWatchdog(ctx) })
	return f.serve(ctx, cmd, path, server.New(o), notifier)
}

// streamIdentity returns the caller that the flags describe; nil without flags. With --stdio,
// the user of the client starts the process, so only there the command line may say who calls.
func (f *serveFlags) streamIdentity(cmd *cobra.Command) (*mcp.Identity, error) {
	for _, name := range callerFlagNames {
		if cmd.Flags().Changed(name) && !f.stdio {
			return nil, misusef("--%s says who the client of --stdio is. Over HTTP each caller proves who they are: "+
				"declare auth { jwt { … } } for claims of tokens, or auth { api_key \"name\" { … } } for subjects and "+
				"groups", name)
		}
	}
	return f.Identity()
}

// takeSocket takes the socket that systemd has passed, in place of one at --listen.
func (f *serveFlags) takeSocket(cmd *cobra.Command) (err error) {
	if f.stdio {
		return nil
	}
	if f.socket, err = systemdListener(); err != nil {
		return failf("%s", err)
	}
	if f.socket == nil {
		return nil
	}
	address := f.socket.Addr().String()
	if cmd.Flags().Changed("listen") {
		return misusef("--listen %s: systemd has passed a socket at %s: remove --listen, or the socket unit",
			f.listen, address)
	}
	f.listen = address
	return nil
}

// maxServeWarnings is how many warnings of a load serve prints.
const maxServeWarnings = 20

// printDiagnostics reports the diagnostics of a load: to a person on the terminal, to a program in
// the log.
func (f *serveFlags) printDiagnostics(cmd *cobra.Command, path string, log *logging.Log, report runtime.Report) {
	kept, omitted := capWarnings(report.Diagnostics, maxServeWarnings)
	more := ""
	if omitted > 0 {
		more = fmt.Sprintf("%s more: hatchel validate %s shows all", console.Plural(omitted, "warning"), path)
	}
	switch {
	case len(kept) == 0, cmd.Context().Err() != nil: // the signal to stop has ended the load
	case f.isText():
		diags, sources := prefixPaths(f.filesPath, kept, report.Sources)
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
func (f *serveFlags) checkAuth(path string, log *logging.Log, host *runtime.Host, exposed bool) error {
	switch {
	case f.stdio || !exposed || host.Authenticator() != nil:
		return nil
	case f.insecure:
		f.announce(log, fmt.Sprintf(
			"hatchel: WARNING: --insecure-no-auth: anyone who can reach %s can call every tool of %s", f.listen, path))
		return nil
	}
	address := "--listen " + f.listen
	if f.socket != nil {
		address = "the socket of systemd at " + f.listen
	}
	return misusef("%s accepts connections from other machines, but %s declares no authentication: "+
		"declare auth { api_key \"name\" { … } }, listen on 127.0.0.1, or allow everyone with --insecure-no-auth",
		address, path)
}

var errCallsCancelled = failf("stopped before all active calls had ended")

// serve serves until ctx ends, or over standard input and output until the client has gone.
func (f *serveFlags) serve(
	ctx context.Context, cmd *cobra.Command, path string, s *server.Server, notifier *systemdNotifier,
) error {
	g := s.Host.Current()
	tools, prompts := g.Count(f.toolset, mcp.Tools), g.Count(f.toolset, mcp.Prompts)
	skills := g.Count(f.toolset, mcp.Skills)
	resources := g.Count(f.toolset, mcp.Resources) + g.Count(f.toolset, mcp.Templates) - skills
	if tools+prompts+resources+skills == 0 {
		s.Log.Warn("configuration declares no tools, prompts, resources or skills", "directory",
			s.Reloader.Folder.Dir())
	}
	count := console.CountCapabilities(tools, prompts, resources, skills)
	ready := fmt.Sprintf("hatchel: serving %s from %s", count, path)
	force, stop := secondSignal(ctx)
	defer stop()
	if f.stdio {
		f.announce(s.Log, ready+" over stdio"+describeIdentity(s.StreamIdentity))
		f.announceConsole(s, nil)
		in, restore := mcp.Stdin()
		defer restore()
		switch err := s.ServeStdio(ctx, force, in, os.Stdout); {
		case errors.Is(err, server.ErrCallsCancelled):
			return errCallsCancelled
		case err != nil:
			return failf("the connection to the client failed: %s", reason(err))
		}
		return nil
	}
	listener := &server.Listener{TCPListener: f.socket, Shared: true}
	if f.socket == nil {
		var err error
		if listener, err = server.Listen(ctx, f.listen); err != nil {
			return failf("%s", err)
		}
	}
	scheme := "http"
	if s.Host.Certificates() != nil {
		scheme = "https"
	}
	f.announce(s.Log, fmt.Sprintf("%s at %s://%s/mcp", ready, scheme, listener.Addr()))
	if signIn := g.SignIn; signIn != nil {
		f.announce(s.Log, fmt.Sprintf("hatchel: people sign in at %s; its redirect address is %s",
			signIn.Decl.Provider, signIn.Decl.URL+provider.CallbackPath))
	}
	f.announceConsole(s, listener.Addr())
	notifier.Ready()
	defer context.AfterFunc(ctx, notifier.Stopping)()
	switch err := s.Serve(ctx, force, listener); {
	case errors.Is(err, server.ErrCallsCancelled):
		return errCallsCancelled
	case err != nil:
		return failf("%s: %s", f.listen, reason(err))
	}
	return nil
}

// announceConsole says where the console is, if there is one: at its own address, at the URL where
// people sign in, or at the address of the server, nil for none.
func (f *serveFlags) announceConsole(s *server.Server, address net.Addr) {
	if s.Host.Current().Console == nil {
		return
	}
	if own := s.Host.ConsoleAddr(); own != nil {
		address = own
	}
	if address == nil {
		return
	}
	base := "http://" + address.String()
	if s.Host.Certificates() != nil {
		base = "https://" + address.String()
	}
	if signIn := s.Host.Current().SignIn; signIn != nil && s.Host.ConsoleAddr() == nil {
		base = signIn.Decl.URL
	}
	line := "hatchel: console at " + base + "/console/"
	if s.Host.Authenticator() == nil {
		line += ", opened by hatchel console --server " + base
	}
	f.announce(s.Log, line)
}
