package lsp

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"time"

	"hatchel/internal/osfile"
)

// initialize answers the first request of a client.
func initialize(s *Server, m *message) {
	if s.state != stateNew {
		s.refuse(m, codeInvalidRequest, "the server is initialized")
		return
	}
	p := new(initializeParams)
	if !decodeParams(s, m, p) {
		return
	}
	for _, f := range p.Folders {
		s.addRoot(f.URI)
	}
	switch {
	case len(s.roots) > 0:
	case p.RootURI != nil:
		s.addRoot(*p.RootURI)
	case p.RootPath != nil && filepath.IsAbs(*p.RootPath):
		s.addRoot(osfile.URI(*p.RootPath))
	}
	s.watches = p.Capabilities.Workspace.Watch.Dynamic
	var options initializationOptions
	if json.Unmarshal(p.Options, &options) == nil {
		s.commands = options.Commands
	}
	s.snippets = p.Capabilities.TextDocument.Completion.Item.Snippets
	if p.Process != nil {
		s.watchClient(*p.Process)
	}
	s.state = stateRunning
	s.respond(m.ID, initializeResult{capabilities, serverInfo{"hatchel", s.opts.Version}}, nil)
}

// clientCheck is the time between two looks for the process of the client.
const clientCheck = time.Second

// watchClient ends the server when the process of its client has ended, as the protocol demands: another process may
// still hold the stream open. The process of a client in another container is not visible, and is not watched.
func (s *Server) watchClient(pid int) {
	if pid <= 0 || hasEnded(pid) {
		return
	}
	go func() {
		check := time.NewTicker(clientCheck)
		defer check.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-check.C:
				if hasEnded(pid) {
					s.post(func() { s.end(io.EOF) })
					return
				}
			}
		}
	}()
}

// initialized registers for changes of files, and loads the roots that are configuration directories.
func initialized(s *Server, _ *struct{}) {
	if s.watches {
		s.request("client/registerCapability", json.RawMessage(`{"registrations":[{"id":"files",`+
			`"method":"workspace/didChangeWatchedFiles","registerOptions":{"watchers":[{"globPattern":`+
			`"**/*.{hcl,sql,json,csv,txt,md,sh,yaml,yml}"},{"globPattern":"**/.hatchelignore"}]}}]}`))
	}
	for _, root := range s.roots {
		s.openRoot(root)
	}
}

// openRoot loads a root that itself holds files of a configuration, so that all its mistakes are shown.
func (s *Server) openRoot(root string) {
	if s.holdsOwn(root) {
		s.folderAt(root)
	}
}

func (s *Server) addRoot(uri string) {
	if path, ok := pathOf(uri); ok && !slices.Contains(s.roots, path) {
		s.roots = append(s.roots, path)
	}
}

// shutdown prepares for exit: it stops all work.
func shutdown(s *Server, m *message) {
	s.state = stateShutdown
	for _, f := range s.folders {
		f.timer.Stop()
	}
	s.respond(m.ID, nil, nil)
}

// changeRoots adds and removes folders of the workspace.
func changeRoots(s *Server, p *workspaceFoldersParams) {
	for _, removed := range p.Event.Removed {
		if path, ok := pathOf(removed.URI); ok {
			s.roots = slices.DeleteFunc(s.roots, func(root string) bool { return root == path })
		}
	}
	for _, added := range p.Event.Added {
		s.addRoot(added.URI)
	}
	s.assignFolders()
	for _, root := range s.roots {
		s.openRoot(root)
	}
}
