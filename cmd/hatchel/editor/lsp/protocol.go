package lsp

import (
	"encoding/json"

	"hatchel/cmd/hatchel/editor"
)

// Structures of the Language Server Protocol 3.17, with the members that are used.

// Range is a half-open range of a document.
type Range struct {
	Start editor.Position `json:"start"`
	End   editor.Position `json:"end"`
}

// Location is a range of a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// TextEdit replaces a range by a text.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// WorkspaceEdit changes several documents.
type WorkspaceEdit struct {
	Changes map[string][]TextEdit `json:"changes"`
}

// MarkupContent is a text for people.
type MarkupContent struct {
	Kind  string `json:"kind"` // "markdown"
	Value string `json:"value"`
}

func markdown(text string) MarkupContent { return MarkupContent{"markdown", text} }

// documentID names a document.
type documentID struct {
	URI string `json:"uri"`
}

// documentParams are the parameters of a request about a document.
type documentParams struct {
	Document documentID `json:"textDocument"`
}

func (p *documentParams) documentURI() string { return p.Document.URI }

// positionParams are the parameters of a request about a position in a document.
type positionParams struct {
	documentParams
	Position editor.Position `json:"position"`
}

func (p *positionParams) position() editor.Position { return p.Position }

type initializeParams struct {
	Process      *int              `json:"processId"` // of the client
	RootURI      *string           `json:"rootUri"`
	RootPath     *string           `json:"rootPath"`
	Folders      []workspaceFolder `json:"workspaceFolders"`
	Options      json.RawMessage   `json:"initializationOptions"`
	Capabilities struct {
		TextDocument struct {
			Completion struct {
				Item struct {
					Snippets bool `json:"snippetSupport"`
				} `json:"completionItem"`
			} `json:"completion"`
		} `json:"textDocument"`
		Workspace struct {
			Watch struct {
				Dynamic bool `json:"dynamicRegistration"`
			} `json:"didChangeWatchedFiles"`
		} `json:"workspace"`
	} `json:"capabilities"`
}

// initializationOptions are those of this server. Clients send what a user has set, perhaps for another server.
type initializationOptions struct {
	Commands []string `json:"commands"` // those of code lenses and code actions that the client has
}

type workspaceFolder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

type initializeResult struct {
	Capabilities map[string]any `json:"capabilities"`
	ServerInfo   serverInfo     `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type textDocumentItem struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
	Text    string `json:"text"`
}

type didOpenParams struct {
	Document textDocumentItem `json:"textDocument"`
}

type didChangeParams struct {
	Document struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	Changes []struct {
		Range *Range `json:"range"`
		Text  string `json:"text"`
	} `json:"contentChanges"`
}

type watchedFilesParams struct {
	Changes []struct {
		URI string `json:"uri"`
	} `json:"changes"`
}

type workspaceFoldersParams struct {
	Event struct {
		Added   []workspaceFolder `json:"added"`
		Removed []workspaceFolder `json:"removed"`
	} `json:"event"`
}

// Severities of diagnostics.
const (
	severityError   = 1
	severityWarning = 2
)

type diagnostic struct {
	Range    Range                `json:"range"`
	Severity int                  `json:"severity"`
	Code     string               `json:"code"`
	Source   string               `json:"source"`
	Message  string               `json:"message"`
	Tags     []int                `json:"tags,omitempty"`
	Related  []relatedInformation `json:"relatedInformation,omitempty"`
}

type relatedInformation struct {
	Location Location `json:"location"`
	Message  string   `json:"message"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type logMessageParams struct {
	Type    int    `json:"type"`
	Message string `json:"message"`
}
