package urltext

import (
	"strings"
	"unicode/utf8"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// phase is a part of a URL.
type phase int

const (
	start     phase = iota // before or inside the scheme
	authority              // after ://
	path
	query
)

// state is the position of a rendering in a URL. Renderings with equal states do not differ from
// there on.
type state struct {
	phase           phase
	head            string                  // the scheme or the host so far
	first           bool                    // in the first segment
	dots            string                  // the segment so far if it is "", "." or "..", else "x"
	value           *template.Interpolation // the last value in the segment
	hasEscapedSlash bool                    // the constant text contains an escaped separator
	pathFunc        string                  // the function whose value the segment is: path or segment
	inName          bool                    // in a query: before =
}

type states = template.States[state]

// checker processes all renderings of a template in parallel.
type checker struct {
	template.Diagnostics
	connection  bool
	page        bool // no request is sent: people open the URL
	braceHinted bool // the hint about writing a value was given
	choices     template.Choices
}

func (c *checker) checkTree(t *template.Tree) {
	var ends states
	c.choices = template.Choices{}
	c.choices.Each(t.Choices, func() {
		ends = ends.With(c.readNodes(t.Nodes, states{{phase: start, first: c.connection}}))
	})
	end := hclv2.Range{Filename: t.Range.Filename, Start: t.Range.End, End: t.Range.End}
	if len(t.Nodes) > 0 {
		switch n := t.Nodes[len(t.Nodes)-1].(type) {
		case *template.Text:
			end = n.Place(max(0, len(n.Value)-1), len(n.Value))
		case *template.Interpolation:
			end = n.Range
		}
	}
	for _, s := range ends {
		c.checkEnd(s, end)
	}
}

func (c *checker) readNodes(nodes []template.Node, in states) states {
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Text:
			in = c.readText(n, in)
		case *template.Interpolation:
			in = in.Map(func(s state) state { return c.readInterpolation(n, s) })
		case *template.If:
			var out states
			for _, branch := range c.choices.Branches(n) {
				out = out.With(c.readNodes(branch, in))
			}
			in = out
		case *template.For:
			in = c.readLoop(n, in)
		}
	}
	return in
}

// readLoop adds rounds until they add no new state. Loops before the path are rejected, because a
// host would have unlimited forms.
func (c *checker) readLoop(n *template.For, in states) states {
	for _, s := range in {
		if s.phase == authority || s.phase == start && !c.connection {
			c.reportHost(n.Range, `A loop cannot build the scheme or the host of a URL.`)
			return in
		}
	}
	for {
		out := in
		c.choices.Each(n.Choices, func() { out = out.With(c.readNodes(n.Body, in)) })
		if len(out) == len(in) {
			return in
		}
		in = out
	}
}

// readText advances the states over constant text.
func (c *checker) readText(t *template.Text, in states) states {
	for i := 0; i < len(t.Value); {
		_, unit := utf8.DecodeRuneInString(t.Value[i:])
		ch, escaped := decodePercent(t.Value[i:])
		if escaped {
			unit = 3
		}
		at := func(before int) hclv2.Range { return t.Place(max(0, i-before), min(i+unit, len(t.Value))) }
		word := t.Value[i : i+unit]
		in = in.Map(func(s state) state {
			if escaped {
				return c.escaped(s, ch, at)
			}
			return c.readChar(s, word, t.Value[i:], at)
		})
		i += unit
	}
	return in
}

// readChar processes one character of constant text, in UTF-8.
func (c *checker) readChar(s state, ch, rest string, at func(int) hclv2.Range) state {
	if ch == "#" {
		c.Errorf(at(0), "Fragment in a URL",
			`A fragment, # and the text after it, is never sent. Leave it out, or write %%23 for the character.`)
		return s
	}
	switch s.phase {
	case start:
		return c.startChar(s, ch, rest, at)
	case authority:
		return c.authorityChar(s, ch, at)
	case path:
		return c.pathChar(s, ch, at)
	}
	switch {
	case ch == "&":
		s.inName = true
	case ch == "=":
		s.inName = false
	case !queryChar(ch[0]) || len(ch) > 1:
		c.invalid(ch, at(0))
	}
	return s
}

func (c *checker) startChar(s state, ch, rest string, at func(int) hclv2.Range) state {
	if c.connection {
		switch {
		case ch == "/":
			return state{phase: path, first: true}
		case ch == "?":
			return state{phase: query, inName: true}
		case strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://"):
			c.Errorf(at(0), "Whole URL with a connection",
				`The connection already has the host: write the part after its base_url, such as "/orders". `+
					`For another host, leave out the connection's name.`)
			return state{phase: path, dots: "x"}
		}
		c.Errorf(at(0), "Path must begin with /",
			`The URL of a request over a connection begins with "/" or "?": write "/%s...".`,
			rest[:strings.IndexAny(rest+"/", "/?")])
		return state{phase: path, dots: "x", first: true}
	}
	s.head += ch
	lower := strings.ToLower(s.head)
	switch {
	case lower == "http://" || lower == "https://":
		return state{phase: authority}
	case strings.HasPrefix("http://", lower) || strings.HasPrefix("https://", lower):
		return s
	}
	if ch == "/" && len(s.head) == 1 {
		c.rejectPath(at(0),
			`Without a connection a URL is written whole: "https://host/path". With one, name it: http "name" { ... }.`)
	} else {
		c.Errorf(at(0), "Unknown scheme", `A URL begins with "https://" or "http://".`)
	}
	return state{phase: path, dots: "x"}
}

func (c *checker) authorityChar(s state, ch string, at func(int) hclv2.Range) state {
	switch ch {
	case "/", "?":
		c.checkAuthority(s, at(len(s.head)))
		return stateAfter(ch)
	case "@":
		why := `A URL must not hold a user or password. Use the auth block of a connection.`
		if c.page {
			why = `A URL that is shown to users must not hold a user name or password.`
		}
		c.Errorf(at(0), "User in a URL", "%s", why)
		s.head = ""
		return s
	}
	s.head += ch
	return s
}

// stateAfter returns the state after the / or ? that ends the host or a segment.
func stateAfter(ch string) state {
	if ch == "?" {
		return state{phase: query, inName: true}
	}
	return state{phase: path}
}

func (c *checker) checkAuthority(s state, r hclv2.Range) {
	if why := authorityProblem(s.head); why != "" {
		c.Errorf(r, "Wrong host", `The host %q %s.`, s.head, why)
	}
}

func (c *checker) pathChar(s state, ch string, at func(int) hclv2.Range) state {
	switch {
	case ch == "/" && s.first && s.dots == "" && s.value == nil && s.pathFunc == "" && c.connection:
		c.Errorf(at(1), "Host in a path", `A path that begins with // names another host. Write one /.`)
		return state{phase: path, dots: "x"}
	case ch == "/" || ch == "?":
		c.endSegment(s, at)
		return stateAfter(ch)
	case ch == `\`:
		c.Errorf(at(0), "Invalid character in URL", `Some servers take \ for /. Write /, or %%5C for the character.`)
	case len(ch) > 1 || !pathChar(ch[0]):
		c.invalid(ch, at(0))
	}
	return c.add(s, ch, at)
}

func (c *checker) invalid(ch string, r hclv2.Range) {
	switch {
	case ch == "%":
		c.Errorf(r, "Wrong escape in URL",
			`%% begins an escape of two digits, such as %%20. Write %%25 for the character.`)
	case ch != "{" && ch != "}":
		c.Errorf(r, "Invalid character in URL", `The character %q is not allowed in a URL. Write %s.`, ch, escape(ch))
	case !c.braceHinted:
		c.braceHinted = true
		c.Errorf(r, "Invalid character in URL",
			`A value is written ${input.x}, and %s is not allowed in a URL. Write %s for the character.`, ch,
			escape(ch))
	}
}

// add appends a character to a segment.
func (c *checker) add(s state, ch string, at func(int) hclv2.Range) state {
	if s.pathFunc != "" {
		c.Errorf(at(0), "Text after "+s.pathFunc+"()",
			`%s() gives whole segments, so only a / may follow it. Put the text into the value, or write `+
				`one ${...} for one segment.`, s.pathFunc)
		s.pathFunc = ""
	}
	if ch == "." && len(s.dots) < 2 && s.dots != "x" {
		s.dots += "."
	} else {
		s.dots = "x"
	}
	return s
}

// escaped processes %XX in constant text.
func (c *checker) escaped(s state, ch byte, at func(int) hclv2.Range) state {
	switch s.phase {
	case start:
		return c.startChar(s, "%", "%", at)
	case authority:
		s.head += "%"
		return s
	case query:
		return s
	}
	s.hasEscapedSlash = s.hasEscapedSlash || ch == '/' || ch == '\\' || ch < 0x20 || ch == 0x7f
	if ch == '.' {
		return c.add(s, ".", at)
	}
	return c.add(s, "x", at)
}

// endSegment checks a complete segment.
func (c *checker) endSegment(s state, at func(int) hclv2.Range) {
	switch {
	case s.value != nil && s.hasEscapedSlash:
		c.Errorf(s.value.Range, "Value next to an escaped slash",
			`A value and an escaped slash in one segment look like a value that holds a slash. Write `+
				`the whole segment as one value: ${segment("group/${%s}")}.`, s.value.Source)
	case s.value == nil && s.pathFunc == "" && (s.dots == "." || s.dots == ".."):
		c.Errorf(at(len(s.dots)), "Dots in a path",
			`The segment %q and the segment before it are removed before a URL is sent. Write the path without them.`,
			s.dots)
	}
}

// rejectPath reports a URL without a host, with what a request needs.
func (c *checker) rejectPath(r hclv2.Range, why string) {
	if c.page {
		why = `The page needs a complete URL: write "https://host/path".`
	}
	c.Errorf(r, "URL has no host", "%s", why)
}

// checkEnd checks the states at the end of the template.
func (c *checker) checkEnd(s state, r hclv2.Range) {
	switch s.phase {
	case start:
		if !c.connection {
			c.rejectPath(r, `A URL is written whole: "https://host/path".`)
		}
	case authority:
		c.checkAuthority(s, r)
	case path:
		c.endSegment(s, func(int) hclv2.Range { return r })
	}
}
