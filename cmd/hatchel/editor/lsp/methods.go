package lsp

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// handler handles one message in the goroutine of Serve.
type handler func(s *Server, m *message)

// newMethods returns the handlers of the methods that the server knows.
func newMethods() map[string]handler {
	return map[string]handler{
		"initialize":  initialize,
		"initialized": notification(initialized),
		"shutdown":    shutdown,

		"textDocument/didOpen":                notification(didOpen),
		"textDocument/didChange":              notification(didChange),
		"textDocument/didSave":                notification(didSave),
		"textDocument/didClose":               notification(didClose),
		"workspace/didChangeWatchedFiles":     notification(changeWatchedFiles),
		"workspace/didChangeWorkspaceFolders": notification(changeRoots),

		"textDocument/hover":             onLoad(hover),
		"textDocument/definition":        onLoad(definition),
		"textDocument/documentHighlight": onLoad(highlights),
		"textDocument/references":        onLoadApart(references),
		"textDocument/prepareRename":     onLoad(prepareRename),
		"textDocument/rename":            onLoadApart(rename),
		"textDocument/documentSymbol":    onText(documentSymbols),
		"textDocument/foldingRange":      onText(foldingRanges),
		"textDocument/selectionRange":    onText(selectionRanges),
		"textDocument/formatting":        onText(formatDocument),
		"textDocument/rangeFormatting":   onText(formatRange),
		"workspace/symbol":               onServer(workspaceSymbols),
		"textDocument/completion":        onText(complete),
		"textDocument/signatureHelp":     onText(signatureAt),
		"textDocument/codeAction":        onLoad(codeActions),
		"textDocument/codeLens":          onLoad(codeLenses),
		"textDocument/inlayHint":         onLoad(inlayHints),

		"textDocument/semanticTokens/full":  onLoadedText(semanticTokens),
		"textDocument/semanticTokens/range": onLoadedText(semanticTokens),
		"hatchel/folder":                    onLoadedText(configurationFolder),
	}
}

// capabilities are what the server says of itself.
var capabilities = map[string]any{
	"positionEncoding":                "utf-16",
	"textDocumentSync":                map[string]any{"openClose": true, "change": 1, "save": map[string]any{}},
	"hoverProvider":                   true,
	"definitionProvider":              true,
	"documentHighlightProvider":       true,
	"referencesProvider":              true,
	"renameProvider":                  map[string]any{"prepareProvider": true},
	"documentSymbolProvider":          true,
	"foldingRangeProvider":            true,
	"selectionRangeProvider":          true,
	"documentFormattingProvider":      true,
	"documentRangeFormattingProvider": true,
	"workspaceSymbolProvider":         true,
	"completionProvider": map[string]any{
		"triggerCharacters": []string{".", "\"", "'", "{", "("},
	},
	"signatureHelpProvider":  map[string]any{"triggerCharacters": []string{"(", ","}},
	"codeActionProvider":     map[string]any{"codeActionKinds": []string{kindQuickFix, kindRefactor, kindSource}},
	"codeLensProvider":       map[string]any{},
	"inlayHintProvider":      true,
	"semanticTokensProvider": semanticTokensOptions,
	"workspace": map[string]any{
		"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true},
	},
}

// notification is the handler of a notification.
func notification[P any](do func(s *Server, p *P)) handler {
	return func(s *Server, m *message) {
		p := new(P)
		if decodeParams(s, m, p) {
			do(s, p)
		}
	}
}

// documentRequest is the parameters of a request about one document.
type documentRequest[P any] interface {
	*P
	documentURI() string
}

// onText is the handler of a request that needs only the text of a document: it is answered at once, or, as one that
// an editor sends with the first document, after the first load of its folder. The result is null for a document that
// is not open or not part of a configuration.
func onText[P, R any, Q documentRequest[P]](do func(v *view, p *P) (R, *responseError)) handler {
	return onDocument[P, R, Q](do, func(v *view, answer func()) { answer() })
}

// onLoad is the handler of a request that needs a load of the text as it is now: it waits for that.
func onLoad[P, R any, Q documentRequest[P]](do func(v *view, p *P) (R, *responseError)) handler {
	return afterLoad[P, R, Q](onText[P, R, Q](func(v *view, p *P) (R, *responseError) { return do(v.readable(p), p) }))
}

// onLoadedText is onLoad for a request that is answered from the text as it is, also if it has a syntax error.
func onLoadedText[P, R any, Q documentRequest[P]](do func(v *view, p *P) (R, *responseError)) handler {
	return afterLoad[P, R, Q](onText[P, R, Q](do))
}

// onLoadApart is onLoad for a request that takes long: it is answered in a goroutine of its own, from the view alone.
func onLoadApart[P, R any, Q documentRequest[P]](do func(v *view, p *P) (R, *responseError)) handler {
	return afterLoad[P, R, Q](onDocument[P, R, Q](do, func(v *view, answer func()) {
		v.server.tasks.Go(func() {
			answer()
			debug.FreeOSMemory() // of the loads that it made
		})
	}))
}

// onDocument answers a request from the view of its document. Run calls the function that does so.
func onDocument[P, R any, Q documentRequest[P]](do func(v *view, p *P) (R, *responseError),
	run func(v *view, answer func())) handler {
	return func(s *Server, m *message) {
		p := new(P)
		if !decodeParams(s, m, p) {
			return
		}
		s.whenFirstLoaded(Q(p).documentURI(), func() {
			v := s.view(Q(p).documentURI())
			if v == nil || s.isCancelled(m.ID) {
				s.respond(m.ID, nil, nil)
				return
			}
			run(v, func() {
				s.safely(m, func() {
					result, err := do(v, p)
					s.respond(m.ID, result, err)
				})
			})
		})
	}
}

// afterLoad makes a handler wait for a load of the text as it is now.
func afterLoad[P, R any, Q documentRequest[P]](answer handler) handler {
	return func(s *Server, m *message) {
		p := new(P)
		if !decodeParams(s, m, p) {
			return
		}
		doc := s.documents[Q(p).documentURI()]
		if doc == nil || doc.folder == nil {
			s.respond(m.ID, nil, nil)
			return
		}
		doc.folder.whenLoaded(func() { s.safely(m, func() { answer(s, m) }) })
	}
}

// onServer is the handler of a request that is not about a document.
func onServer[P, R any](do func(s *Server, p *P) (R, *responseError)) handler {
	return func(s *Server, m *message) {
		p := new(P)
		if decodeParams(s, m, p) {
			result, err := do(s, p)
			s.respond(m.ID, result, err)
		}
	}
}

// decodeParams reads the parameters of a message. It refuses a request whose parameters are invalid.
func decodeParams(s *Server, m *message, p any) bool {
	if m.Params == nil {
		return true
	}
	if err := json.Unmarshal(m.Params, p); err != nil {
		s.refuse(m, codeInvalidParams, fmt.Sprintf("the parameters of %s are invalid", m.Method))
		return false
	}
	return true
}
