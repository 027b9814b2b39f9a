// Package credential says what a credential is: by the name of a value, by the form of a text, and by both in the
// texts that hold names and values, such as URLs, headers, JSON and command lines. Everything that refuses, hides or
// replaces credentials uses this one table.
package credential

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A name counts by whole words. Its last words decide: api_token is a credential, token_url is none.
var (
	// endings are the last words of names of credentials. Each is a sequence of words, of which compound writes
	// several as one.
	endings = wordLists(`
		password; passwd; passphrase; passcode; pwd; secret; token; bearer; authorization; cookie; cookies; jwt;
		credential; credentials; pat;
		api key; access key; secret key; private key; auth key; app key; application key; client key; account key;
		shared key; master key; signing key; encryption key; decryption key; hmac key; ssh key; deploy key;
		subscription key; functions key; function key; license key; admin key; consumer key; webhook key;
		service role key; secret key base; secret access; shared access signature; auth code`)

	// prefixes of pass, which has other meanings alone and at the end of other names.
	passOf = words(`db database smtp mail imap user admin root mysql pg postgres redis ftp sftp ldap login auth
		basic proxy http https mongo mongodb rabbitmq amqp kafka sa`)

	// weakEndings are last words of names that have other meanings as well: their values are credentials if they look
	// random.
	weakEndings = words(`key auth authentication signature sig session sessionid sid appid apiid pass otp csrf
		xsrf pin`)

	// harmless are the last words before an ending with which a name is none of a credential.
	harmless = map[string][]string{
		"token": words(`page next prev previous continuation cursor sync pagination starting start resume change
			max min count per stop pad unk eos bos mask each last first lexer parser skip delta watermark trace
			correlation span`),
		"key": words(`public primary sort foreign partition cache idempotency row index hash range object lookup
			translation message`),
		"cookie":  words(`use accept allow enable`),
		"cookies": words(`use accept allow enable`),
		"secret":  words(`has no is`),
	}

	// compound are words that are written as one.
	compound = []string{"password", "passwd", "passphrase", "apikey", "accesskey", "secretkey", "privatekey", "authkey",
		"authtoken", "accesstoken", "refreshtoken", "bearertoken", "apitoken", "usertoken", "idtoken", "privatetoken",
		"sessiontoken", "securitytoken", "bottoken", "clientsecret", "appsecret", "apisecret", "sharedsecret",
		"webhooksecret", "consumersecret", "signingsecret", "sharedaccesssignature"}

	// asked are names of what people alone know. They are never asked in a form.
	asked = wordLists(`pin; cvv; cvc; card number; credit card; one time code; otp; pin code; pin number; security code;
		recovery code; backup code; recovery phrase; seed phrase`)

	// clauseWords are words before which a clause of a label ends.
	clauseWords = words(`please for of to in on at from with by and or is are was has have must should may will can so
		here below again now that which who if when as used needed required`)

	// lookalikes are letters that people take for those of Latin.
	lookalikes = strings.NewReplacer("а", "a", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "i", "ј", "j", "к", "k",
		"ӏ", "l", "м", "m", "о", "o", "р", "p", "ѕ", "s", "т", "t", "ѵ", "v", "ԝ", "w", "х", "x", "у", "y",
		"А", "A", "С", "C", "Е", "E", "І", "I", "К", "K", "О", "O", "Р", "P", "Ѕ", "S", "Т", "T", "У", "Y",
		"α", "a", "ε", "e", "ι", "i", "ı", "i", "κ", "k", "ν", "v", "ο", "o", "ρ", "p", "τ", "t", "υ", "u",
		"ɑ", "a", "ɡ", "g", "Κ", "K", "Ο", "O", "Ρ", "P", "Τ", "T", "Ι", "I", "Ε", "E", "Α", "A")
)

func words(list string) []string { return strings.Fields(list) }

func wordLists(list string) (lists [][]string) {
	for part := range strings.SplitSeq(list, ";") {
		lists = append(lists, strings.Fields(part))
	}
	return lists
}

// IsName reports whether the value of this name is a credential, such as X-Api-Key, clientSecret or db_password.
func IsName(name string) bool { return strong(split(name)) }

// MayBeName reports whether the value of this name is a credential if it looks random, such as that of key.
func MayBeName(name string) bool {
	list := split(name)
	if strong(list) {
		return true
	}
	if len(list) == 0 || !slices.Contains(weakEndings, list[len(list)-1]) {
		return false
	}
	return !isHarmless(list)
}

// IsAskedName reports whether a form must not ask for a value of this name.
func IsAskedName(name string) bool {
	list := split(name)
	return strong(list) || slices.ContainsFunc(asked, func(ending []string) bool { return endsWith(list, ending) })
}

// IsAskedText reports whether a label of a form, such as "Your password, please", asks for such a value: one of its
// clauses ends with such a name. Letters count as those that they look like.
func IsAskedText(label string) bool {
	label = lookalikes.Replace(norm.NFKC.String(label))
	for clause := range strings.FieldsFuncSeq(label, endsClause) {
		var name []string
		for word := range strings.FieldsSeq(clause) {
			if !slices.Contains(clauseWords, strings.ToLower(word)) {
				name = append(name, word)
				continue
			}
			if IsAskedName(strings.Join(name, " ")) {
				return true
			}
			name = nil
		}
		if IsAskedName(strings.Join(name, " ")) {
			return true
		}
	}
	return false
}

// endsClause reports whether a clause of a label ends with a character.
func endsClause(r rune) bool {
	return r == '\n' || unicode.IsPunct(r) && r != '-' && r != '_' && r != '\'' && r != '’' || unicode.Is(unicode.Sm, r)
}

func strong(list []string) bool {
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	switch {
	case isHarmless(list):
		return false
	case last == "pass":
		return len(list) == 1 || slices.Contains(passOf, list[len(list)-2])
	}
	return slices.ContainsFunc(compound, func(s string) bool { return strings.HasSuffix(last, s) }) ||
		slices.ContainsFunc(endings, func(ending []string) bool { return endsWith(list, ending) })
}

func isHarmless(list []string) bool {
	return len(list) > 1 && slices.Contains(harmless[list[len(list)-1]], list[len(list)-2])
}

func endsWith(list, ending []string) bool {
	return len(list) >= len(ending) && slices.Equal(list[len(list)-len(ending):], ending)
}

// split returns the words of a name in lower case. Words are separated by other characters than letters and digits,
// and begin at capitals: X-Api-Key, api_key, apiKey, APIKey and user[apiKey] have the same last two.
func split(name string) (list []string) {
	runes := []rune(name)
	start := 0
	end := func(at int) {
		if at > start {
			list = append(list, strings.ToLower(string(runes[start:at])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])):
			end(i)
			start = i
		}
	}
	end(len(runes))
	for len(list) > 1 && isNumber(list[len(list)-1]) { // PASSWORD_2
		list = list[:len(list)-1]
	}
	return list
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
