package media

import (
	"path"
	"strings"
)

// typesByExtension are the media types of files by the end of their names. They are listed here,
// because those of the system differ from machine to machine.
var typesByExtension = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown", ".html": "text/html", ".htm": "text/html",
	".css": "text/css", ".csv": "text/csv", ".js": "text/javascript", ".mjs": "text/javascript",
	".json": "application/json", ".jsonl": "application/jsonl", ".xml": "application/xml",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".sql": "application/sql",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".png": "image/png",
	".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
	".ico": "image/vnd.microsoft.icon", ".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg",
	".flac": "audio/flac", ".mp4": "video/mp4", ".webm": "video/webm",
}

// TypeByExtension is the media type of a file of that name, or empty when the name does not say.
func TypeByExtension(name string) string { return typesByExtension[strings.ToLower(path.Ext(name))] }
