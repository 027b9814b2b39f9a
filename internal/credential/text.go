package credential

import (
	"strings"

	"hatchel/internal/lazyregexp"
)

var (
	// member matches a member of an object of JSON whose value is a text, as in "password": "x".
	member = lazyregexp.New(`["']([\w.\- ]{1,64})["']\s*:\s*"((?:[^"\\]|\\.)*)"`)
	// field matches a field of a form.
	field = lazyregexp.New(`(?:^|&)([\w.\-\[\]%]{1,64})=([^&\s]*)`)
	// headerLine matches a header of a request.
	headerLine = lazyregexp.New(`(?m)^\s*([A-Za-z][\w-]{1,63}):[ \t]*(\S[^\r\n]*)$`)
)

// FindNamed returns the first credential in the text of a body: one that Find finds, or the value of a member, field
// or header with the name of a credential.
func FindNamed(body string) (m Match, found bool) {
	if m, found = Find(body); found {
		return m, true
	}
	for _, pattern := range []*lazyregexp.Regexp{member, field, headerLine} {
		for _, g := range pattern.FindAllStringSubmatchIndex(body, -1) {
			name, value := body[g[2]:g[3]], body[g[4]:g[5]]
			if IsNamed(name, value) {
				return Match{g[4], g[5], "the value of " + name, name}, true
			}
		}
	}
	return m, false
}

// Unknown stands for the parts of a text that are not known.
const Unknown = "\x00"

// IsKnown reports whether a text has no part that is not known.
func IsKnown(text string) bool { return !strings.Contains(text, Unknown) }

var (
	option       = lazyregexp.New(`^--?[A-Za-z][\w.-]*$`)
	assignment   = lazyregexp.New(`^([A-Za-z_][\w.-]*)=(.*)$`)
	headerOption = words(`-H --header -header --headers --proxy-header`)
	proxyOption  = words(`--proxy-user --userpwd --credentials --creds`)
	userOption   = words(`-u --user -U -a --auth`)
	dataOption   = words(`-d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form
		--form-string --post-data --body --body-data`)
)

// FindWord returns the index of the first word of a command line that holds a credential: the value of an option with
// such a name, as in --password=x and -H "Authorization: Bearer x", an assignment to a variable with such a name, a
// user with a password after -u, or a text in which Find finds one. Parts that are not known are none.
func FindWord(list []string) (index int, m Match, found bool) {
	for i, w := range list {
		if m, found = findInWord(list, i, w); found {
			return i, m, true
		}
	}
	return 0, m, false
}

func findInWord(list []string, i int, w string) (m Match, found bool) {
	if m, found = Find(w); found && IsKnown(w[m.Start:m.End]) {
		return m, true
	}
	before := ""
	if i > 0 {
		before = list[i-1]
	}
	name, value, hasValue := strings.Cut(w, "=")
	at := len(name) + 1
	switch {
	case (name == secretOption || before == secretOption) && runsGcloud(list[:i]):
		return m, false
	case hasValue && option.MatchString(name) && isOneOf(name, headerOption):
		return headerOf(value, at)
	case hasValue && option.MatchString(name) && isUser(list, i, name):
		return passwordOf(value, at)
	case hasValue && option.MatchString(name):
		return named(strings.TrimLeft(name, "-"), value, at)
	case isOneOf(before, headerOption):
		return headerOf(w, 0)
	case isUser(list, i, before):
		return passwordOf(w, 0)
	case isOneOf(before, dataOption):
		if m, found = FindNamed(w); found && IsKnown(w[m.Start:m.End]) {
			return m, true
		}
	case option.MatchString(before) && !strings.HasPrefix(w, "-"):
		if m, found = named(strings.TrimLeft(before, "-"), w, 0); found {
			return m, true
		}
	}
	for _, short := range []string{"-H", "-u"} { // -HName: value, -uuser:password
		if rest, ok := strings.CutPrefix(w, short); ok && rest != "" && !strings.HasPrefix(w, "--") {
			if short == "-H" {
				return headerOf(rest, 2)
			}
			if webClients[commandOf(list, i)] {
				return passwordOf(rest, 2)
			}
		}
	}
	if rest, ok := strings.CutPrefix(w, "-p"); ok && rest != "" && mysqlClients[commandOf(list, i)] {
		return named("password", rest, 2)
	}
	if g := assignment.FindStringSubmatchIndex(w); g != nil {
		return named(w[g[2]:g[3]], w[g[4]:g[5]], g[4])
	}
	return m, false
}

// isUser reports whether a word is an option of a program before i whose value is a user with a password. Other
// programs take a user with a group.
func isUser(list []string, i int, option string) bool {
	return isOneOf(option, proxyOption) || isOneOf(option, userOption) && webClients[commandOf(list, i)]
}

// webClients are programs that take a user and a password for requests.
var webClients = map[string]bool{"curl": true, "wget": true, "http": true, "https": true, "xh": true, "ab": true,
	"hey": true, "siege": true}

// mysqlClients take the password in the word -p.
var mysqlClients = map[string]bool{"mysql": true, "mariadb": true, "mysqldump": true, "mariadb-dump": true,
	"mysqladmin": true, "mariadb-admin": true, "sshpass": true}

// secretOption is an option that is the name of a secret for gcloud, and may be the secret for other programs.
const secretOption = "--secret"

func runsGcloud(before []string) bool {
	for _, w := range before {
		if w[strings.LastIndexByte(w, '/')+1:] == "gcloud" {
			return true
		}
	}
	return false
}

// commandOf returns the name of the program before a word.
func commandOf(list []string, i int) string {
	for _, w := range list[:i] {
		base := w[strings.LastIndexByte(w, '/')+1:]
		if webClients[base] || mysqlClients[base] {
			return base
		}
	}
	return ""
}

func isOneOf(w string, list []string) bool {
	for _, x := range list {
		if x == w {
			return true
		}
	}
	return false
}

// named returns the value of a name in a word, where it begins at a position, if it is a credential.
func named(name, value string, at int) (m Match, found bool) {
	if !IsKnown(value) || !IsNamed(name, value) {
		return m, false
	}
	return Match{at, at + len(value), "the value of " + name, name}, true
}

// headerOf returns the credential of a header that is written as Name: value.
func headerOf(text string, at int) (m Match, found bool) {
	name, value, has := strings.Cut(text, ":")
	if !has {
		return m, false
	}
	trimmed := strings.TrimSpace(value)
	start := at + len(name) + 1 + strings.Index(value, trimmed)
	return named(strings.TrimSpace(name), trimmed, start)
}

// passwordOf returns the password of user:password.
func passwordOf(text string, at int) (m Match, found bool) {
	user, password, has := strings.Cut(text, ":")
	if !has || password == "" || !IsKnown(password) || placeholder.MatchString(password) || isNumber(user) &&
		isNumber(password) {
		return m, false
	}
	noun := "the password after " + strings.ReplaceAll(user, Unknown, "…") + ":"
	return Match{at + len(user) + 1, at + len(text), noun, "password"}, true
}
