package credential

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"hatchel/internal/lazyregexp"
)

var (
	// plainWords are what is written in place of a credential and is none.
	plainWords = words(`none null nil true false yes no on off anonymous required optional disabled enabled auto default
		basic bearer token apikey digest negotiate include omit same-origin fetch no-check nocheck hidden redacted unset
		n/a`)
	// schemes are the words before the credential of a header.
	schemes = lazyregexp.New(`(?i)^(?:basic|bearer|token|apikey|api-key|key|digest|negotiate|ntlm|splunk|bot|` +
		`genie[kK]ey|snowflake|aws4-hmac-sha256)(?:\s+|=|$)`)
	placeholder = lazyregexp.New(`^(?:<[^<>]*>|\{+[^{}]*\}+|\[[^\[\]]*\]|\$\{?[A-Za-z_]\w*\}?|%\w+%|%[sqv]|` +
		`[xX]{3,}|[*.…•_-]+)$`)
	filePath  = lazyregexp.New(`^(?:~|\.{1,2})?(?:/[\w.@%+-]+)+/?$`)
	publicKey = lazyregexp.New(`^(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S+) |` +
		`^-----BEGIN (?:[A-Z0-9]+ )*(?:PUBLIC KEY|CERTIFICATE)-----`)
)

// IsNamed reports whether a text under a name is a credential. Names decide by IsName, and by MayBeName if the text
// looks random. A text that is no secret, such as an empty one, "none", a number of two digits, a path of a file or
// a placeholder like "<token>", is no credential under any name.
func IsNamed(name, text string) bool {
	switch {
	case IsName(name):
		if list := split(name); slices.Contains([]string{"cookie", "cookies"}, list[len(list)-1]) {
			return isCookie(text)
		}
		return isSecret(text)
	case MayBeName(name):
		return isSecret(text) && LooksRandom(withoutScheme(text))
	}
	return false
}

// companions are the last words of names that are sent beside a credential.
var companions = words(`user username login id tenant account email version org organization project region name type
	client app agent accept audience scope resource`)

// setting matches what is sent beside a credential under any name, such as units=metric.
var setting = lazyregexp.New(`^[A-Za-z][A-Za-z-]{0,15}$|^\d{1,4}$`)

// IsSent reports whether a text under a name is a credential where credentials are sent: under every name but those of
// what is sent beside them, such as X-Tenant, and unless it is one word.
func IsSent(name, text string) bool {
	list := split(name)
	switch {
	case MayBeName(name):
		return isSecret(text)
	case len(list) > 0 && slices.Contains(companions, list[len(list)-1]):
		return LooksRandom(text)
	}
	return isSecret(text) && !setting.MatchString(text)
}

// isSecret reports whether a text where a credential is expected may be one.
func isSecret(text string) bool {
	text = withoutScheme(strings.TrimSpace(text))
	switch {
	case text == "", placeholder.MatchString(text), publicKey.MatchString(text):
		return false
	case slices.Contains(plainWords, strings.ToLower(text)):
		return false
	case isNumber(text):
		return len(text) > 2
	case filePath.MatchString(text):
		return slices.ContainsFunc(strings.Split(text, "/"), LooksRandom)
	}
	return !isAddress(text)
}

func withoutScheme(text string) string {
	return strings.TrimSpace(text[len(schemes.FindString(text)):])
}

// isAddress reports whether a text is a URL without a credential.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return false
	}
	_, found := Find(text)
	return !found
}

// isCookie reports whether one of the values of a Cookie header is a credential. Short words are settings.
func isCookie(text string) bool {
	for pair := range strings.SplitSeq(text, ";") {
		name, value, hasName := strings.Cut(strings.TrimSpace(pair), "=")
		if !hasName || strings.Trim(value, "=") == "" {
			name, value = "cookie", strings.TrimSpace(pair)
		}
		isSetting := len(value) <= 5 && strings.IndexFunc(value, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
		if isSecret(value) && (IsName(name) && name != "cookie" || !isSetting) {
			return true
		}
	}
	return false
}

// identity matches UUIDs and times, which are no keys.
var identity = lazyregexp.New(`(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^\d{4}-\d\d-\d\dT`)

const minRandom = 16 // characters of a text that looks random

// LooksRandom reports whether a text is long, has no spaces, and mixes letters and digits as keys do.
func LooksRandom(text string) bool {
	if len(text) < minRandom || strings.ContainsAny(text, " \t\r\n") || identity.MatchString(text) {
		return false
	}
	digits, letters, changes := 0, 0, 0
	wasDigit := false
	for i, r := range text {
		isDigit := unicode.IsDigit(r)
		switch {
		case isDigit:
			digits++
		case unicode.IsLetter(r):
			letters++
		}
		if i > 0 && isDigit != wasDigit {
			changes++
		}
		wasDigit = isDigit
	}
	return digits >= 3 && letters >= 3 && changes >= 4 && digits+letters > len(text)*3/4
}
