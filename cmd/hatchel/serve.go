package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
	"hatchel/runtime/source"
)

// drainTime is how long calls have to end when the server is told to stop.
const drainTime = 30 * time.Second

// serving are the flags of serve.
type serving struct {
	loading
	logging
	stdio   bool
	toolset string
	listen  string
	state   string
	watch   bool
	open    bool // to everybody who can reach it, although nobody is asked who they are
}

func serveCommand() *cobra.Command {
	s := new(serving)
	cmd := folderArg(&cobra.Command{
		Use:   "serve [DIR]",
		Short: "Serve the tools of a folder, and reload them when a file changes",
		Long: `Serve the tools of a folder over Streamable HTTP, or with --stdio over standard input and output.

A file that changes is loaded at once, without dropping a call. An edit that does not load changes nothing: it is printed, and
/readyz shows it. SIGHUP and POST /admin/reload load the folder, too. SIGINT and SIGTERM let calls end, a second one does not.

Endpoints: /mcp, /mcp/NAME for each toolset, /files, /approvals, /healthz, /readyz, and /admin/reload. With an auth block every request proves who makes it, but for
/healthz and the status of /readyz, and /admin/reload is for the group admin; without one only this machine is served.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := s.logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return s.said(cmd.Context(), log, s.run(cmd, folderOf(args), log))
		},
	})
	s.loading.flags(cmd)
	s.logging.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&s.stdio, "stdio", false, "serve one client over standard input and output")
	f.StringVar(&s.toolset, "toolset", "", "serve nothing but the toolset `name`")
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to serve HTTP on; port 0 takes a free one")
	f.StringVar(&s.state, "state", "", "`file` for what outlives the process: keys, tasks, what waits for an answer; by default that of the state block, or one for the folder, in $STATE_DIRECTORY or ~/.local/state/hatchel")
	f.BoolVar(&s.open, "insecure-no-auth", false, "serve other machines although the configuration has no auth block: everybody who can reach the address may call every tool")
	f.BoolVar(&s.watch, "watch", true, "reload when a file changes")
	cmd.MarkFlagsMutuallyExclusive("stdio", "listen")
	return cmd
}

func (s *serving) run(cmd *cobra.Command, path string, log *slog.Logger) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	reached, err := reachable(ctx, s.listen)
	if err != nil {
		return err
	}
	folder, err := source.NewFolder(path)
	if err != nil {
		return failf("%s cannot be found: %s", path, reason(err))
	}
	options, err := s.options(folder.Dir(), stderr)
	if err != nil {
		return err
	}
	state := stateOf(s.state, folder.Dir())
	defer state.Close()
	audits := new(runtime.AuditLogs)
	if !s.stdio {
		audits.Stdout = cmd.OutOrStdout()
	}
	host := runtime.NewHost(ctx, runtime.HostOptions{
		Build: runtime.Build{Set: all.Set(), Dir: folder.Dir(), Version: release(), Log: log, AuditLogs: audits, State: state},
		Load:  options,
		Grace: drainTime,
	})
	defer host.Close()
	r := &reloader{path: path, folder: folder, host: host, log: log, stderr: stderr, plain: s.plain(), trimmer: newTrimmer()}
	defer r.trimmer.stop()
	if err := r.begin(ctx); err != nil {
		return err
	}
	if host.Info(s.toolset) == nil {
		return noToolset(path, s.toolset, host)
	}
	if reached, err = s.guarded(ctx, r, reached && !s.stdio); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(r.onHangup(ctx))
	if s.watch {
		background.Go(func() { folder.Watch(ctx, func() { r.again(ctx, "a file changed") }) })
	}
	return s.serve(ctx, r, reached)
}

// guarded refuses to serve other machines where nobody is asked who they are, unless that was asked for, and reports whether to go on refusing.
func (s *serving) guarded(ctx context.Context, r *reloader, reached bool) (bool, error) {
	switch {
	case !reached:
		return false, nil
	case s.open:
		if r.host.Authenticator() == nil {
			s.say(ctx, r.log, r.stderr, fmt.Sprintf("hatchel: WARNING: --insecure-no-auth: everybody who can reach %s may call every tool of %s", s.listen, r.path))
		}
		return false, nil
	case r.host.Authenticator() == nil:
		return true, misusef("--listen %s could be reached from other machines, and %s does not say whom the server knows: declare auth { api_key \"name\" { … } }, or listen on 127.0.0.1. --insecure-no-auth serves everybody", s.listen, r.path)
	}
	return true, nil
}

// serve serves what was loaded until ctx ends, or over stdio until the client is gone.
func (s *serving) serve(ctx context.Context, r *reloader, reached bool) error {
	server := mcp.New(r.host, mcp.Options{Logger: r.log})
	r.host.SetNotifier(server)
	offered := offerOf(r.host.Current(), s.toolset)
	if offered.empty() {
		r.log.Warn("there is nothing to serve: no .hcl file of the folder declares a tool, a prompt or a resource", "folder", r.folder.Dir())
	}
	ready := fmt.Sprintf("hatchel: serving %s from %s", offered, r.path)
	if s.stdio {
		s.say(ctx, r.log, r.stderr, ready+" over stdio")
		return s.serveStdio(ctx, server, r.host)
	}
	e := &endpoints{mcp: server, toolset: s.toolset, host: r.host, reloader: r, reached: reached, stopping: ctx.Done()}
	return s.serveHTTP(ctx, e, func(addr net.Addr) {
		scheme := "http"
		if r.host.Certificates() != nil {
			scheme = "https"
		}
		s.say(ctx, r.log, r.stderr, fmt.Sprintf("%s at %s://%s/mcp", ready, scheme, addr))
	})
}
