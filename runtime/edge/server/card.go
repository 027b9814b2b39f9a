package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
)

// The paths of the card and of the catalog that names it.
const (
	cardPath    = "/mcp/server-card"
	catalogPath = wellKnownPath + "ai-catalog.json"
)

const (
	cardType    = "application/mcp-server-card+json"
	catalogType = "application/ai-catalog+json"
	cardSchema  = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// serverCard is a card of SEP-2127, MCP Server Cards.
type serverCard struct {
	Schema      string       `json:"$schema"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Version     string       `json:"version"`
	Description string       `json:"description"`
	Website     string       `json:"websiteUrl,omitempty"`
	Icons       []cardIcon   `json:"icons,omitempty"`
	Remotes     []cardRemote `json:"remotes"`
}

type cardIcon struct {
	Src      string   `json:"src"`
	MimeType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"`
	Theme    string   `json:"theme,omitempty"`
}

type cardRemote struct {
	Type      string         `json:"type"`
	URL       string         `json:"url"`
	Revisions []mcp.Revision `json:"supportedProtocolVersions"`
}

// catalog is an AI Catalog, version 1.0.
type catalog struct {
	Version string         `json:"specVersion"`
	Entries []catalogEntry `json:"entries"`
}

type catalogEntry struct {
	Identifier string `json:"identifier"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// serveCard answers a request for the card of the server or for its catalog, which everybody may read, also pages of
// every origin. It reports false for another request, or without a card.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != cardPath && r.URL.Path != catalogPath {
		return false
	}
	config := &s.Host.Current().Config.Server
	if config.Card == nil {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Content-Type, If-None-Match")
	h.Set("Access-Control-Expose-Headers", "ETag")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return true
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return true
	}
	var document any = newServerCard(config, s.mcp.Revisions())
	h.Set("Content-Type", cardType)
	if r.URL.Path == catalogPath {
		document = newCatalog(config.Card)
		h.Set("Content-Type", catalogType)
	}
	text, err := json.Marshal(document)
	if err != nil {
		http.Error(w, "Internal error", http.StatusInternalServerError)
		return true
	}
	digest := sha256.Sum256(text)
	h.Set("ETag", `"`+hex.EncodeToString(digest[:16])+`"`)
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	return true
}

func newServerCard(config *hcl.Server, revisions []mcp.Revision) *serverCard {
	card := &serverCard{
		Schema: cardSchema, Name: config.Card.Name, Title: config.Title, Version: config.Version,
		Description: config.Card.Description, Website: config.Website,
		Remotes: []cardRemote{{"streamable-http", config.Card.URL, revisions}},
	}
	for _, icon := range config.Icons {
		card.Icons = append(card.Icons, cardIcon{icon.Src, icon.MimeType, icon.Sizes, icon.Theme})
	}
	return card
}

// newCatalog returns the catalog with a card: com.example/tools is the server tools of example.com.
func newCatalog(card *hcl.Card) *catalog {
	namespace, name, _ := strings.Cut(card.Name, "/")
	domain := strings.Split(namespace, ".")
	slices.Reverse(domain)
	return &catalog{"1.0", []catalogEntry{{
		"urn:air:" + strings.Join(domain, ".") + ":mcp:" + name, cardType, card.URL + "/server-card",
	}}}
}
