package curl

import (
	"cmp"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
	"hatchel/internal/lazyregexp"
)

// sentCredential is a way to authenticate with a header. The header of a bearer token is empty.
type sentCredential struct{ header, value string }

// ownHeaders are the headers that follow from the address, the body and the connection, with the reason.
var ownHeaders = map[string]string{
	"host":              "the host is that of base_url",
	"content-length":    "",
	"transfer-encoding": "",
	"accept-encoding":   "",
	"connection":        "",
	"keep-alive":        "",
	"proxy-connection":  "",
	"upgrade":           "connections use HTTP only",
	"te":                "",
	"trailer":           "it follows from the body",
	"expect":            "",
}

// unrepeatable are the schemes of Authorization whose values are computed for one request.
var unrepeatable = []string{"digest", "ntlm", "negotiate", "aws4-hmac-sha256", "hawk", "signature", "oauth"}

// headers separates credentials, which belong to the connection, from constant headers.
func (g *generator) headers() {
	var credentials []sentCredential
	user := g.user
	if user != "" && g.sets("Authorization") {
		g.lose("credential left out", "the user and the password: curl sends the header Authorization of -H")
		user = ""
	}
	for _, h := range g.joinedHeaders() {
		name, value := h[0], h[1]
		scheme, token, _ := strings.Cut(value, " ")
		lower := strings.ToLower(name)
		why, isOwn := ownHeaders[lower]
		switch {
		case !plainHeader.MatchString(name):
			g.lose("header left out", "its name is not valid: use letters, digits and -")
		case isOwn:
			if why != "" {
				g.lose("header left out", name+": "+why)
			}
		case lower == "authorization" && slices.Contains(unrepeatable, strings.ToLower(scheme)):
			g.lose("credential left out", "Authorization: "+scheme+" is computed for one request")
		case lower == "authorization" && strings.EqualFold(scheme, "Basic") && basicOf(token) != "":
			user = basicOf(token)
		case lower == "authorization" && strings.EqualFold(scheme, "Bearer"):
			credentials = append(credentials, sentCredential{"", token})
		case lower == "idempotency-key":
			g.fields = append(g.fields, importer.Key(name)+" = input."+g.input("idempotency_key", "optional(string)"))
		case lower != "accept" && lower != "user-agent" && lower != "content-type" && lower != "referer" &&
			(isCredential(name, value) || namesCredential(value)):
			credentials = append(credentials, sentCredential{name, value})
		case strings.Contains(value, reference):
			g.fields = append(g.fields, importer.Key(name)+" = input."+g.input(name, "string"))
		case importer.ContainsCredential(value):
			g.lose("header left out", name+" has a part with the form of a credential")
		default:
			g.fields = append(g.fields, importer.Key(name)+" = "+importer.Quote(value))
		}
	}
	g.authenticate(user, credentials)
}

// joinedHeaders returns the headers of the command, each name once: a list of values is one value with commas.
func (g *generator) joinedHeaders() (joined [][2]string) {
	for _, h := range g.request.headers {
		separator := ", "
		if strings.EqualFold(h[0], "Cookie") {
			separator = "; "
		}
		at := slices.IndexFunc(joined, func(j [2]string) bool { return strings.EqualFold(j[0], h[0]) })
		switch {
		case strings.EqualFold(h[0], "Content-Type") && (g.content != nil || g.contentType != ""):
			// the body has it
		case at < 0:
			joined = append(joined, h)
		case strings.EqualFold(h[0], "Authorization") || strings.EqualFold(h[0], "User-Agent"):
			joined[at] = h // a request has one
		default:
			joined[at][1] += separator + h[1]
		}
	}
	if g.content != nil && slices.Contains(g.removed, "content-type") {
		g.lose("header", "the command sends a body without Content-Type, and the tool sends its type")
	}
	if g.contentType != "" {
		joined = append(joined, [2]string{"Content-Type", g.contentType})
	}
	if g.isJSON && !slices.ContainsFunc(joined, func(j [2]string) bool { return strings.EqualFold(j[0], "Accept") }) &&
		!slices.Contains(g.removed, "accept") {
		joined = append(joined, [2]string{"Accept", "application/json"})
	}
	return joined
}

// namesCredential reports whether a value has a variable that is named like a credential.
func namesCredential(value string) bool {
	for i, part := range strings.Split(value, reference) {
		if i%2 == 1 && credential.IsName(strings.TrimPrefix(part, "-")) {
			return true
		}
	}
	return false
}

// authenticate chooses the argument of auth. A connection has one way to authenticate; other headers with keys are
// headers of the connection.
func (g *generator) authenticate(user string, credentials []sentCredential) {
	g.auth = map[string][]string{}
	if g.otherAuth && user != "" {
		g.lose("credential left out", "the user and the password, which the command sends in another way")
		user = ""
	}
	if user != "" {
		name, password, _ := strings.Cut(user, ":")
		secret := func(what, value string) string {
			if value == "" {
				return `""` // a secret cannot be empty
			}
			return g.secret(what, value)
		}
		entry := "password = " + secret("password", password)
		if g.asked {
			entry = "password = " + g.secret("password", "")
			g.lose("password to set", "curl asks for the password of the user")
		}
		g.auth["basic"] = []string{"username = " + secret("user", name), entry}
	}
	if len(credentials) == 1 && credentials[0].header == "" && user == "" {
		g.auth["bearer"] = []string{g.secret("token", credentials[0].value)}
		return
	}
	place := "header"
	if user != "" {
		place = "headers"
	}
	for _, c := range credentials {
		g.auth[place] = append(g.auth[place], g.credentialHeader(c))
	}
}

// credentialHeader returns the entry of a header with a credential.
func (g *generator) credentialHeader(c sentCredential) string {
	if c.header == "" {
		return `Authorization = "Bearer ${` + g.secret("token", c.value) + `}"`
	}
	scheme, token, ok := strings.Cut(c.value, " ")
	if strings.EqualFold(c.header, "Authorization") && ok && len(scheme) < 12 {
		prefix := strings.TrimSuffix(importer.Quote(scheme+" "), `"`)
		return "Authorization = " + prefix + "${" + g.secret("token", token) + `}"`
	}
	return importer.Key(c.header) + " = " + g.secret(strings.TrimPrefix(strings.ToLower(c.header), "x-"), c.value)
}

// decode says how the response is decoded, by what the command accepts, the file that it writes, and the path.
func (g *generator) decode() {
	for _, h := range g.request.headers {
		if strings.EqualFold(h[0], "Accept") {
			if g.decoding = decodingOf(h[1]); g.decoding != "" {
				mediaType, _, _ := strings.Cut(h[1], ",")
				mediaType, _, _ = strings.Cut(mediaType, ";")
				g.mediaType = strings.ToLower(strings.TrimSpace(mediaType))
				return
			}
			if strings.Contains(h[1], "json") {
				return
			}
		}
	}
	for _, name := range []string{g.output, g.url.Path} {
		if g.decoding = decodingOfFile(name); g.decoding != "" {
			g.mediaType, _, _ = strings.Cut(mime.TypeByExtension(path.Ext(name)), ";")
			return
		}
	}
}

// answer returns the block with which the tool answers bytes; empty for other results.
func (g *generator) answer() string {
	if g.decoding != "bytes" || g.method == "HEAD" {
		return ""
	}
	base, kind := g.mediaType, "resource"
	for _, word := range []string{"image", "audio"} {
		if strings.HasPrefix(base, word+"/") && base != "image/svg+xml" {
			kind = word
		}
	}
	switch {
	case !strings.Contains(base, "*"):
	case kind == "image":
		base = "image/png"
	case kind == "audio":
		base = "audio/mpeg"
	default:
		base = ""
	}
	return importer.BytesContent(g.name, kind, cmp.Or(base, "application/octet-stream")) + "\n"
}

// decodingOf returns how a response of the accepted types is decoded; empty for JSON.
func decodingOf(accept string) string {
	decoding := ""
	for part := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(part, ";")
		switch name = strings.ToLower(strings.TrimSpace(name)); {
		case lines.MatchString(name):
			decoding = cmp.Or(decoding, "text")
		case strings.HasSuffix(name, "json"), name == "*/*", name == "application/*", strings.Contains(name, reference):
			return ""
		case textType.MatchString(name):
			decoding = cmp.Or(decoding, "text")
		case strings.Contains(name, "/"):
			decoding = cmp.Or(decoding, "bytes")
		}
	}
	return decoding
}

// textType matches media types whose values are text.
var textType = lazyregexp.New(`^text/|(xml|yaml|csv|javascript|graphql|toml|[.+](raw|diff|patch|html|text|full))$`)

// fileTypes are the endings of the names of files by how they are decoded.
var fileTypes = map[string][]string{
	"text": {"csv", "tsv", "txt", "xml", "html", "htm", "yaml", "yml", "md", "log", "rss", "atom", "ics", "ndjson",
		"jsonl", "svg", "sh", "js", "css", "toml", "ini", "pem", "asc"},
	"bytes": {"pdf", "png", "jpg", "jpeg", "gif", "webp", "ico", "zip", "gz", "tgz", "tar", "bz2", "xz", "7z", "mp3",
		"mp4", "wav", "ogg", "webm", "bin", "exe", "deb", "rpm", "dmg", "iso", "jar", "whl", "docx", "xlsx", "pptx",
		"parquet", "wasm"},
}

func decodingOfFile(name string) string {
	at := strings.LastIndexByte(name, '.')
	if at <= strings.LastIndexByte(name, '/')+1 {
		return ""
	}
	for _, decoding := range []string{"text", "bytes"} {
		if slices.Contains(fileTypes[decoding], strings.ToLower(name[at+1:])) {
			return decoding
		}
	}
	return ""
}

// contentTypeOf returns the type that the command gives to its body, or "".
func (g *generator) contentTypeOf() (mime string) {
	for _, h := range g.request.headers {
		if strings.EqualFold(h[0], "Content-Type") {
			mime = h[1]
		}
	}
	if mime == "" && g.isJSON {
		mime = "application/json"
	}
	return mime
}

// as returns the argument that says how the response is decoded.
func (g *generator) as() []string {
	if g.decoding == "" || g.method == "HEAD" {
		return nil
	}
	return []string{fmt.Sprintf("as = %q", g.decoding)}
}
