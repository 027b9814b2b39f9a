package client

import (
	"strings"

	"hatchel/internal/redirect"
)

// Description is what a person reads of a client before they consent.
type Description struct {
	Title    string // what is known of the client, for large type: the host of its document, or where it may return to
	Name     string // what the client calls itself; empty for nothing
	Warning  string // a sentence without a full stop on what is not known; empty for nothing
	Redirect string // where the answer goes: a host, or what kind of program
}

// anybodys is true of an address of this computer: ids are public, and each program can listen there or
// take its scheme.
const anybodys = "Every program on this computer can say that it is this one"

// Describe returns the description of the client for one of its redirect addresses.
func (c *Client) Describe(uri string) Description {
	d := Description{Name: c.Name, Redirect: placeOf(uri)}
	a, _ := redirect.Parse(uri)
	isAnybodys := a.IsLoopback() || a.IsPrivate()
	switch c.Kind {
	case BuiltIn, Declared:
		d.Title, d.Name = c.Name, ""
		if isAnybodys && !c.IsConfidential() {
			d.Warning = anybodys
		}
	case Document:
		d.Title = c.Host
		d.Warning = "Its description is at " + c.Host + ", which this server admits"
		if c.anyHost {
			d.Warning = "Nobody has checked this name or " + c.Host
		}
		if isAnybodys {
			d.Warning = anybodys
		}
	default:
		d.Title = placeOf(uri)
		if d.Name != "" {
			d.Warning = "Nobody has checked this name"
		}
	}
	return d
}

// placeOf returns where a redirect address leads, in words for a person.
func placeOf(uri string) string {
	a, problem := redirect.Parse(uri)
	host := a.Host
	if a.Port != "" {
		host += ":" + a.Port
	}
	switch {
	case problem != "":
		return ""
	case a.IsLoopback():
		return "a program on this computer"
	case a.IsPrivate():
		return "a program on this computer that opens " + a.Scheme + "://" + host
	case strings.Contains(a.Host, ":"):
		return "[" + a.Host + "]" + strings.TrimPrefix(host, a.Host)
	}
	return host
}
