package functions

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Table returns every function, sorted by name. The caller owns the slice.
func Table() []Function { return slices.Clone(table()) }

// Lookup returns the function called name.
func Lookup(name string) (*Function, bool) {
	all := table()
	i, found := slices.BinarySearchFunc(all, name, func(f Function, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !found {
		return nil, false
	}
	return &all[i], true
}

var table = sync.OnceValue(func() []Function {
	text, part, separator := param("text", String), param("part", String), param("separator", String)
	pattern, key, at := param("pattern", String), param("key", String), param("time", String)
	number, list, object := param("number", Number), param("list", List), param("object", Object)
	value, data := param("value", Any), Param{Name: "data", Kind: String, OrBytes: true}

	oneText, oneNumber, oneList, oneObject := params(text), params(number), params(list), params(object)
	oneValue, oneData, oneName := params(value), params(data), params(param("name", String))
	lists, searched, named := params(list.variadic()), params(list, value), params(object, key.variadic())
	withPrefix, withSuffix := params(text, param("prefix", String)), params(text, param("suffix", String))
	formatted := params(param("format", String), value.variadic())
	severalNumbers := params(param("number", Any).variadic())

	all := []Function{
		// text.go
		New("upper", "Converts letters to upper case.",
			oneText, fixed(String), onParts(strings.ToUpper)).Keeping(Parts | Beginning),
		New("lower", "Converts letters to lower case.",
			oneText, fixed(String), onParts(strings.ToLower)).Keeping(Parts | Beginning),
		New("title", "Converts the first letter of each word to upper case.",
			oneText, fixed(String), title).Keeping(Parts | Beginning),
		New("trimspace", "Removes white space from both ends.",
			oneText, fixed(String), onText(strings.TrimSpace)).Keeping(Parts | Beginning),
		New("chomp", "Removes newlines from the end.",
			oneText, fixed(String), onText(chomp)).Keeping(Parts | Beginning),
		New("strrev", "Reverses the characters of a string.", oneText, fixed(String), reverseText).
			Keeping(Beginning),
		New("trim", "Removes the characters of the second string from both ends of the first.",
			params(text, param("characters", String)), fixed(String), trim).Keeping(Parts | Beginning),
		New("trimprefix", "Removes the second string from the start of the first, if present.",
			withPrefix, fixed(String), onTexts(strings.TrimPrefix)).Keeping(Parts | Beginning),
		New("trimsuffix", "Removes the second string from the end of the first, if present.",
			withSuffix, fixed(String), onTexts(strings.TrimSuffix)).Keeping(Parts | Beginning),
		New("startswith", "Reports whether the first string starts with the second.",
			withPrefix, fixed(Bool), onTexts(strings.HasPrefix)),
		New("endswith", "Reports whether the first string ends with the second.",
			withSuffix, fixed(Bool), onTexts(strings.HasSuffix)),
		New("strcontains", "Reports whether the first string contains the second.",
			params(text, part), fixed(Bool), containsText),
		New("split", "Splits a string at every separator; the separator comes first.",
			params(separator, text), listOf(String), split).Keeping(Parts | Beginning),
		New("join", "Joins the elements of a list with a separator; the separator comes first.",
			params(separator, list), fixed(String), join).Keeping(Beginning),
		New("replace", "Replaces every occurrence of a string; use regexreplace for a pattern.",
			params(text, part, param("replacement", String)), fixed(String), replace).Keeping(Parts | Beginning),
		New("substr", "Returns a number of characters from an offset; a negative offset counts from the end, and "+
			"the length -1 takes all the rest.",
			params(text, param("offset", Integer), param("length", Integer)), fixed(String), substr).
			Keeping(Parts | Beginning),
		New("indent", "Indents every line except the first by a number of spaces.",
			params(param("spaces", Integer), text), fixed(String), indent).Keeping(Parts | Beginning),
		New("repeat", "Repeats a string a number of times.",
			params(text, param("count", Integer)), fixed(String), repeat).Keeping(Beginning),

		// regex.go
		New("regex", "Returns the first match of a pattern: a string, a list of its groups, or an object of its "+
			"named groups; fails if nothing matches.", params(pattern, text), fixed(Any), regex).
			Keeping(Beginning),
		New("regexall", "Returns a list of all matches of a pattern.", params(pattern, text), listOf(Any), regexAll).
			Keeping(Beginning),
		New("regexreplace", "Replaces every match of a pattern; $1 and ${name} in the replacement are groups.",
			params(text, pattern, param("replacement", String)), fixed(String), regexReplace).
			Keeping(Parts | Beginning),

		// format.go
		New("format", "Formats values by verbs, with width and precision: %s text, %d integer, %f decimal, "+
			"%t bool, %q quoted, %v any value, %x hexadecimal.", formatted, fixed(String), formatText).
			Keeping(Parts | Beginning),
		New("formatlist", "Formats once for every element of its lists; other values are used each time.",
			formatted, listOf(String), formatList).Keeping(Parts | Beginning),

		// list.go
		New("length", "Returns the number of characters of a string, elements of a list or members of an object.",
			params(value.notNull()), fixed(Integer), length).counts(),
		New("concat", "Concatenates lists.", lists, follow(Unify), concat).Keeping(Parts | Beginning),
		New("contains", "Reports whether a list has an element that equals a value.", searched, fixed(Bool), contains),
		New("distinct", "Removes duplicate elements and keeps the first of each.",
			oneList, follow(SameAsFirst), distinct).Keeping(Parts | Beginning),
		New("flatten", "Replaces lists in a list by their elements, at every depth.",
			oneList, listOf(Any), flatten).Keeping(Parts | Beginning),
		New("reverse", "Reverses the order of the elements.",
			oneList, follow(SameAsFirst), reverse).Keeping(Beginning),
		New("sort", `Sorts strings or numbers; the optional order is "asc" or "desc".`,
			params(list, param("order", String).optional()), follow(SameAsFirst), sorted).Keeping(Beginning),
		New("slice", "Returns the elements from a start index up to, but not including, an end index.",
			params(list, param("start", Integer), param("end", Integer)), follow(SameAsFirst), slice).
			Keeping(Beginning),
		New("element", "Returns the element at an index; an index beyond the end wraps around.",
			params(list, param("index", Integer)), follow(ElemOfFirst), element).Keeping(Beginning).Choosing(AnElement),
		New("index", "Returns the index of the first element that equals a value; fails if there is none.",
			searched, fixed(Integer), indexOf),
		New("range", "Returns a list of numbers: range(limit), range(start, limit) or range(start, limit, step); "+
			"the limit is excluded.",
			params(param("start", Number), param("limit", Number).optional(), param("step", Number).optional()),
			listOf(Number), numbers),
		New("chunklist", "Splits a list into lists of a size; the last one may be shorter.",
			params(list, param("size", Integer)), follow(ListOfFirst), chunks).Keeping(Parts | Beginning),
		New("coalescelist", "Returns the first list that is not empty.",
			lists, follow(Unify), coalesceList).Keeping(Parts | Beginning),
		New("alltrue", "Reports whether every element is true.", oneList, fixed(Bool), everyBool(true)),
		New("anytrue", "Reports whether at least one element is true.", oneList, fixed(Bool), everyBool(false)),
		New("setunion", "Returns every value that is in one of the lists, once.",
			lists, follow(Unify), distinct).Keeping(Beginning),
		New("setintersection", "Returns every value of the first list that is in all other lists, once.",
			params(list, list.variadic()), follow(SameAsFirst), intersection).Keeping(Beginning),
		New("setsubtract", "Returns every value of the first list that is not in the second, once.",
			params(list, param("removed", List)), follow(SameAsFirst), subtract).Keeping(Beginning),

		// object.go
		New("keys", "Returns the keys of an object, sorted.", oneObject, listOf(String), keys).counts(),
		New("values", "Returns the values of an object in the order of its sorted keys.",
			oneObject, listOf(Any), values).Keeping(Parts | Beginning | Unnamed),
		New("lookup", "Returns the value of a key, or the default if the key is missing; fails without a default.",
			params(object, key, param("default", Any).optional()), fixed(Any), lookup).
			Keeping(Beginning).Choosing(AnElement).namesMembers(),
		New("merge", "Merges objects; later values replace earlier ones, and null is skipped.",
			params(param("object", Any).variadic()), fixed(Object), merge).Keeping(Parts),
		New("zipmap", "Builds an object from a list of keys and a list of values.",
			params(param("keys", List), param("values", List)), fixed(Object), zipmap),
		New("transpose", "Inverts an object of lists of strings: every string becomes a key with the list of "+
			"the keys that it was listed under.", oneObject, fixed(Object), transpose),
		New("pick", "Returns an object with only the given keys.",
			named, fixed(Object), pick).Keeping(Parts).namesMembers(),
		New("omit", "Returns an object without the given keys.",
			named, fixed(Object), omit).Keeping(Parts).namesMembers(),
		New("compact", "Removes members that are null from objects, at every depth, and objects that have no members "+
			"left because of it. Elements of lists stay.",
			oneValue, follow(SameAsFirst), compact).Keeping(Parts | Beginning),
		New("brackets", "Flattens an object for form and query: { \"items[0][price]\" = … }. With \"[]\" as the "+
			"second argument a list has no index, as in { \"ids[]\" = [1, 2] }, and its elements are single values. "+
			"Empty lists and objects give nothing.",
			params(object, param("style", String).only("[]").optional()), fixed(Object), brackets),
		New("coalesce", "Returns the first argument that is neither null nor an empty string. A member that is "+
			"missing, such as a claim that the caller does not have, is null to it.",
			params(value.variadic()), follow(Unify), coalesce).Keeping(Parts | Beginning).Choosing(AnArgument).
			skipsAbsent(),

		// number.go
		New("abs", "Returns the absolute value of a number.", oneNumber, follow(SameAsFirst), abs),
		New("ceil", "Rounds a number up to an integer.", oneNumber, fixed(Integer), rounding(ceil)),
		New("floor", "Rounds a number down to an integer.", oneNumber, fixed(Integer), rounding(floor)),
		New("round", "Rounds a number to the nearest integer; a half is rounded away from zero.",
			oneNumber, fixed(Integer), rounding(round)),
		New("signum", "Returns -1, 0 or 1 for a negative number, zero or a positive number.",
			oneNumber, fixed(Integer), signum),
		New("pow", "Raises the first number to the power of the second.",
			params(number, param("power", Number)), fixed(Number), pow),
		New("log", "Returns the logarithm of the first number to the base of the second.",
			params(number, param("base", Number)), fixed(Number), logarithm),
		New("min", "Returns the smallest of numbers or lists of numbers.",
			severalNumbers, fixed(Number), extreme(-1)),
		New("max", "Returns the largest of numbers or lists of numbers.", severalNumbers, fixed(Number), extreme(1)),
		New("sum", "Adds the numbers of a list; the sum of an empty list is 0.", oneList, fixed(Number), sum),
		New("parseint", "Parses an integer in a base from 2 to 62.",
			params(text, param("base", Integer)), fixed(Integer), parseInt),

		// conversion.go
		New("tostring", "Converts a number or a bool to a string; null stays null.",
			oneValue, nullable(String), toString).Keeping(Parts | Beginning),
		New("tonumber", "Converts a string to a number; null stays null.", oneValue, nullable(Number), toNumber),
		New("tobool", `Converts "true" or "false" to a bool; null stays null.`, oneValue, nullable(Bool), toBool),
		New("tolist", "Returns a list unchanged; null stays null.",
			oneValue, follow(SameAsFirst), toList).Keeping(Parts | Beginning),

		// encoding.go
		New("jsonencode", "Encodes a value as JSON with sorted keys.",
			oneValue, fixed(String), jsonEncode).Keeping(Parts | Unnamed),
		New("jsondecode", "Decodes JSON.", oneText, fixed(Any), jsonDecode),
		New("base64encode", "Encodes a string or bytes in base64.",
			oneData, fixed(String), base64Encode).Keeping(Parts),
		New("base64decode", "Decodes base64 to a string of UTF-8; use base64bytes for other data.",
			oneText, fixed(String), base64Text),
		New("base64bytes", "Decodes base64 to bytes.", oneText, fixed(Bytes), base64Bytes),
		New("urlencode", "Escapes a string for a query string or a form.",
			oneText, fixed(String), onParts(url.QueryEscape)).Keeping(Parts | Beginning),
		New("csvdecode", "Decodes CSV with a header line to a list of objects of strings.",
			oneText, listOf(Object), csvDecode),

		// digest.go
		New("md5", "Returns the MD5 digest in hexadecimal.", oneData, fixed(String), digest(md5.New)),
		New("sha1", "Returns the SHA-1 digest in hexadecimal.", oneData, fixed(String), digest(sha1.New)),
		New("sha256", "Returns the SHA-256 digest in hexadecimal.", oneData, fixed(String), digest(sha256.New)),
		New("sha512", "Returns the SHA-512 digest in hexadecimal.", oneData, fixed(String), digest(sha512.New)),
		New("hmac_sha256", "Returns the HMAC-SHA256 of data in hexadecimal; the key comes first.",
			params(Param{Name: "key", Kind: String, OrBytes: true}, data), fixed(String), hmacSHA256),
		New("uuid", "Returns a new random UUID.", nil, fixed(String), uuid).callOnly(),

		// date.go
		New("timestamp", "Returns the current time in UTC, in RFC 3339 format.",
			nil, fixed(String), timestamp).callOnly(),
		New("timeadd", `Adds a duration such as "-24h" or "1h30m" to a time.`,
			params(at, param("duration", String)), fixed(String), timeAdd),
		New("timecmp", "Returns -1, 0 or 1: the first time is earlier than, the same as or later than the second.",
			params(at, param("other time", String)), fixed(Integer), timeCompare),
		New("formatdate", `Formats a time by a layout such as "YYYY-MM-DD hh:mm:ss"; single quotes enclose literal `+
			`text; the layout comes first.`, params(param("layout", String), at), fixed(String), formatDate).
			Keeping(Beginning),

		// file.go
		New("file", "Reads a text file of the configuration directory.",
			oneName, fixed(String), fileText).loadOnly(),
		New("filebase64", "Reads a file of the configuration directory as base64.",
			oneName, fixed(String), fileBase64).loadOnly(),

		// link_header.go
		New("link", `Returns the URL of a relation such as "next" from the Link header of a response, or null.`,
			params(param("headers", Object), param("relation", String)), nullable(String), link),
	}
	slices.SortFunc(all, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return all
})

func (f Function) counts() Function       { f.Counts = true; return f }
func (f Function) skipsAbsent() Function  { f.SkipsAbsent = true; return f }
func (f Function) namesMembers() Function { f.NamesMembers = true; return f }

func params(p ...Param) []Param { return p }

func param(name string, kind Kind) Param { return Param{Name: name, Kind: kind} }

func (p Param) optional() Param { p.Optional = true; return p }

func (p Param) notNull() Param { p.NotNull = true; return p }

func (p Param) only(text string) Param { p.Only = text; return p }

func (p Param) variadic() Param { p.Variadic, p.Optional = true, true; return p }

func fixed(k Kind) Result        { return Result{Kind: k} }
func listOf(k Kind) Result       { return Result{Kind: List, Elem: k} }
func follow(f ResultRule) Result { return Result{Rule: f} }
func nullable(k Kind) Result     { return Result{Kind: k, Nullable: true} }

func (f Function) callOnly() Function { f.CallOnly = true; return f }
func (f Function) loadOnly() Function { f.LoadOnly = true; return f }
