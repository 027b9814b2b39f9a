package hcl

import (
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
)

// Card is the card block: what everybody may know of the server before a client connects to it, by SEP-2127 (MCP
// Server Cards).
type Card struct {
	Name        string // in reverse-DNS form: namespace/name
	URL         string // of the endpoint, as clients reach it
	Description string
}

// The limits of the schema of cards.
const (
	maxCardName    = 200 // bytes, all of ASCII
	maxCardText    = 100 // characters of the title and of the description
	maxCardVersion = 255 // characters
)

// cardToolset is the name that no toolset has, because /mcp/server-card is the card.
const cardToolset = "server-card"

var cardName = lazyregexp.New(`^[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+/[a-zA-Z0-9._-]+$`)

func (c *Card) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&c.Name, "name", "The name of the server among all servers: a domain of yours in reverse, a "+
			"slash, and a name, as in \"com.example/finance-tools\".").Require().Check(c.checkName),
		decode.Attr(&c.URL, "url", "The URL by which clients connect, as in \"https://tools.example.com/mcp\".").
			Require().Check(c.checkURL),
		decode.Attr(&c.Description, "description", "What the server is for, in at most 100 characters.").
			Require().Check(c.checkDescription),
	}
}

func (c *Card) checkName(d *decode.Decoder, r Range) {
	if !cardName.MatchString(c.Name) || len(c.Name) > maxCardName {
		d.Diags.Errorf(r, "Invalid name", "The name on a card is a domain in reverse, one slash and a name, with at "+
			"most %d characters, as in \"com.example/finance-tools\", not %q.", maxCardName, c.Name)
	}
}

func (c *Card) checkURL(d *decode.Decoder, r Range) {
	u, problem := hostname.ParseURL(c.URL, 0)
	switch {
	case problem == "" && strings.ContainsAny(c.URL, "{}"):
		problem = "it has braces, which are variables in a card"
	case problem == "" && hostname.IsReadable(u):
		problem = "others could read what is sent to it: write https://"
	case problem == "" && !strings.HasSuffix(u.Path, "/mcp"):
		problem = "its path does not end in /mcp, where the server answers clients"
	}
	if problem == "" {
		c.URL = u.String()
	} else {
		d.Diags.Errorf(r, "Invalid URL", "%q is no URL of the server: %s. Write the one by which clients connect, as "+
			"in \"https://tools.example.com/mcp\".", c.URL, problem)
	}
}

func (c *Card) checkDescription(d *decode.Decoder, r Range) {
	if n := utf8.RuneCountInString(c.Description); n < 1 || n > maxCardText {
		d.Diags.Errorf(r, "Invalid description", "The description on a card has 1 to %d characters, not %d.",
			maxCardText, n)
	}
}

// cardField declares the card block. What a card has of the server must be within the limits of cards.
func (s *Server) cardField() decode.Field {
	return decode.Block(&s.Card, "card", "A card of the server, which GET /mcp/server-card answers to everybody, and "+
		"a catalog with it at /.well-known/ai-catalog.json, by the draft of MCP Server Cards (SEP-2127). Besides the "+
		"arguments it has the title, version, website and icons of the server, and the revisions of MCP that it "+
		"supports. It has no tools.", (*Card).spec)
}

// checkCard reports what the server block has that a card cannot have.
func (s *Server) checkCard(d *decode.Decoder, b *hclsyntax.Block) {
	if s.Card == nil {
		return
	}
	for _, part := range []struct {
		field *string
		name  string
		most  int
	}{{&s.Title, "title", maxCardText}, {&s.Version, "version", maxCardVersion}} {
		if n := utf8.RuneCountInString(*part.field); n > part.most {
			d.Diags.Errorf(d.FieldRange(part.field, b), "Too long for a card",
				"A card has the %s of the server, with at most %d characters, not %d.", part.name, part.most, n)
		}
	}
	if _, problem := hostname.ParseURL(s.Website, hostname.Query|hostname.Fragment); s.Website != "" && problem != "" {
		d.Diags.Errorf(d.FieldRange(&s.Website, b), "Invalid URL", "A card has the website of the server, and %q is "+
			"no URL of one: %s.", s.Website, problem)
	}
}
