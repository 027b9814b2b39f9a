package functions

const (
	currentDate = `formatdate("YYYY-MM-DD", timestamp())`
	environment = `a variable with env = "NAME" as ${var.name}, or a secret as ${secret.name}`
)

// equivalents maps function names of other languages to the equivalents in this language.
var equivalents = map[string]string{
	"uppercase": "upper(text)", "toupper": "upper(text)", "to_upper": "upper(text)", "upcase": "upper(text)",
	"lowercase": "lower(text)", "tolower": "lower(text)", "to_lower": "lower(text)", "downcase": "lower(text)",
	"strip": "trimspace(text)", "size": "length(list)", "strlen": "length(text)",
	"tojson": "jsonencode(value)", "to_json": "jsonencode(value)", "json": "jsonencode(value)",
	"quote":    "jsonencode(text)",
	"fromjson": "jsondecode(text)", "from_json": "jsondecode(text)", "parsejson": "jsondecode(text)",
	"now": "timestamp()", "today": currentDate, "date": currentDate,
	"str": "tostring(value)", "string": "tostring(value)",
	"int": "tonumber(text)", "float": "tonumber(text)", "number": "tonumber(text)",
	"default": "coalesce(value, other)", "ifnull": "coalesce(value, other)", "nvl": "coalesce(value, other)",
	"isnull": "value == null", "if": "condition ? value : other", "iif": "condition ? value : other",
	"substring": "substr(text, offset, length)",
	"sprintf":   "format(spec, values...)", "printf": "format(spec, values...)",
	"env": environment, "getenv": environment,
	"templatefile": "the text where it is needed, with ${...} and %{if}, or file(name) for one without values",
}

// Equivalent returns the equivalent of a function of other languages, or "".
func Equivalent(name string) string { return equivalents[name] }
