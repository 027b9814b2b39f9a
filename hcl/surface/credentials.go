package surface

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/template/shelltext"
)

// A surface contains no credential, not even one that an author wrote into a file. Literal texts that may be one
// are left out of its digests, too, which would let them be guessed.

// credentialName matches the name of what may be a credential.
var credentialName = regexp.MustCompile(
	`(?i)auth|bearer|basic|cookie|credential|key|pass|pwd|query|secret|sign|token|url`)

// publicNames match credentialName and are no credentials.
var publicNames = []string{"auth", "token_url", "client_auth", "subject_token_type", "requested_token_type"}

func isCredential(name string) bool {
	return credentialName.MatchString(name) && !slices.Contains(publicNames, name)
}

// outline returns the arguments of a block with these names, and of the blocks with these names in it, without the
// literal texts that may be credentials. Nil are all names.
func (s *source) outline(block *hclsyntax.Block, at string, names []string) (lines []string) {
	for _, a := range block.Body.Attributes {
		if names == nil || slices.Contains(names, a.Name) {
			lines = append(lines, s.outlineOf(at+a.Name, a.Name, a.Expr)...)
		}
	}
	for _, nested := range block.Body.Blocks {
		if names == nil || slices.Contains(names, nested.Type) {
			lines = append(lines, s.outline(nested, at+nested.Type+".", nil)...)
		}
	}
	slices.Sort(lines)
	return lines
}

// outlineOf returns the outline of an argument. The members of an object have a line each.
func (s *source) outlineOf(at, name string, e hclsyntax.Expression) (lines []string) {
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return []string{at + " = " + s.withoutTexts(e, isCredential(name))}
	}
	for _, item := range object.Items {
		key := s.memberName(item.KeyExpr)
		hides := isCredential(name) || isCredential(key)
		lines = append(lines, at+"."+key+" = "+s.withoutTexts(item.ValueExpr, hides))
	}
	return lines
}

// memberName returns the name of a member of an object, as it is written.
func (s *source) memberName(key hclsyntax.Expression) string {
	if word := hclv2.ExprAsKeyword(key); word != "" {
		return word
	}
	return strings.Trim(strings.TrimSpace(s.normalize(key.Range())), `"`)
}

// withoutTexts returns an expression without layout, and with its literal texts as ellipses if it hides them.
func (s *source) withoutTexts(e hclsyntax.Expression, hides bool) string {
	text := s.normalize(e.Range())
	if !hides {
		return text
	}
	tokens, _ := hclsyntax.LexConfig([]byte(text), "", hclv2.InitialPos)
	var b strings.Builder
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenNumberLit:
			b.WriteString("…")
		default:
			b.Write(t.Bytes)
		}
	}
	return b.String()
}

// headers returns a line for each header of a block, such as "HEADER X-User {caller.subject}".
func (s *source) headers(block *hclsyntax.Block) []string {
	if e := attribute(block, "headers"); e != nil {
		return s.sentValues("HEADER", e, true)
	}
	return nil
}

// codeVariables returns a line for each environment variable of a block that decides which code programs run.
func (s *source) codeVariables(block *hclsyntax.Block) (lines []string) {
	for name, e := range s.members(block, "env") {
		if shelltext.LoadsCode(name) {
			lines = append(lines, "ENV "+name+" "+s.shape(e))
		}
	}
	return lines
}

// userName returns a line for the user whose name and password a connection sends.
func (s *source) userName(block *hclsyntax.Block) (lines []string) {
	for _, nested := range block.Body.Blocks {
		for name, e := range s.members(nested, "basic") {
			if name == "username" {
				lines = append(lines, "USER "+s.shape(e))
			}
		}
	}
	return lines
}

// members returns the members of an argument that is written as an object.
func (s *source) members(block *hclsyntax.Block, argument string) iter.Seq2[string, hclsyntax.Expression] {
	return func(yield func(string, hclsyntax.Expression) bool) {
		object, ok := attribute(block, argument).(*hclsyntax.ObjectConsExpr)
		if !ok {
			return
		}
		for _, item := range object.Items {
			if !yield(s.memberName(item.KeyExpr), item.ValueExpr) {
				return
			}
		}
	}
}

var (
	// userInfo matches the credentials of a URL.
	userInfo = regexp.MustCompile(`://[^/?#@\s]*(:[^/?#\s]*)?@`)
	// databaseUser matches the credentials of the URL of a database, whose first part is the name of a user.
	databaseUser = regexp.MustCompile(`\b(postgres|postgresql|mysql|mariadb)://([^/?#@:\s]+):[^/?#\s]*@`)
	// keyValue matches a password among the words of a connection string or the parameters of a URL.
	keyValue = regexp.MustCompile(`(?i)\b(password|passwd|pwd|secret|token|api_?key|access_?key)=[^&\s{]+`)
)

// redact removes credentials that an author wrote into an address.
func redact(text string) string {
	user := ""
	if m := databaseUser.FindStringSubmatch(text); m != nil {
		user = m[2] + ":"
	}
	return keyValue.ReplaceAllString(userInfo.ReplaceAllLiteralString(text, "://"+user+"…@"), "$1=…")
}

const credentialWords = `pass(word|wd|phrase)?|pwd|token|bearer|cookie|api[-_]?key|access[-_]?key|client[-_]?secret`

var (
	// credentialOption matches an option of a program whose value is a credential. The name of a secret, as in
	// --secret-id, and of a file, as in --password-file, is none.
	credentialOption = regexp.MustCompile(`(?i)^-.*(` + credentialWords + `)$`)
	// credentialValue matches a credential that is assigned, such as an environment variable.
	credentialValue = regexp.MustCompile(`(?i)\b(\w*(` + credentialWords + `))=[^\s&]+`)
	userOption      = regexp.MustCompile(`^(-u|--user)$`)
	// sentHeader matches the credential of a header in the text of a command.
	sentHeader = regexp.MustCompile(`(?i)\b(authorization:\s*\w+|bearer|[\w-]*(token|key|secret)\w*:)\s+[^\s'"]+`)
)

// commandLine returns the shape of the command of a secret: its words without the credentials that an author wrote into
// them. Which secret a command reads remains.
func (s *source) commandLine(e hclsyntax.Expression) string {
	command, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		return s.shape(e)
	}
	words, option := make([]string, len(command.Exprs)), ""
	for i, word := range command.Exprs {
		text := s.shapeOf(word, 0)
		name, value, hasValue := strings.Cut(text, "=")
		isOption := strings.HasPrefix(text, "-")
		user, _, hasPassword := strings.Cut(text, ":")
		switch {
		case isOption && hasValue && credentialOption.MatchString(name):
			words[i] = name + "=…"
		case isOption && hasValue:
			words[i] = name + "=" + redact(value)
		case !isOption && credentialOption.MatchString(option):
			words[i] = "…"
		case userOption.MatchString(option) && hasPassword:
			words[i] = user + ":…"
		default:
			text = credentialValue.ReplaceAllString(redact(text), "$1=…")
			words[i] = sentHeader.ReplaceAllString(text, "$1 …")
		}
		if option = text; hasValue {
			option = ""
		}
	}
	return clip(strings.Join(words, " "))
}
