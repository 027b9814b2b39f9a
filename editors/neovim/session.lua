-- A person opens a file of a configuration in Neovim, breaks it, mends it, asks and formats. The program prints what
-- the editor showed, as JSON. The settings are those of docs/editors.md.
local seen = {}
local clients = vim.lsp.get_clients or vim.lsp.get_active_clients

-- wait waits for something that the server causes.
local function wait(what, holds)
  if not vim.wait(60000, holds, 5) then
    io.stderr:write("waited in vain: " .. what .. "\n" .. vim.inspect(seen) .. "\n")
    vim.cmd("cquit")
  end
end

local function problems()
  local list = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(list, (d.lnum + 1) .. ":" .. (d.col + 1) .. " " .. d.message)
  end
  return list
end

local function attached()
  return #clients() > 0 and vim.lsp.buf_is_attached(0, clients()[1].id)
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 60000) or {}
  for _, answer in pairs(answers) do
    return answer.result
  end
end

vim.cmd("edit tools/tools.hcl")
wait("a client", attached)
seen.filetype = vim.bo.filetype

vim.cmd([[%s/input\.name/input.nmae/]])
wait("a diagnostic", function() return #problems() > 0 end)
seen.broken = problems()
vim.cmd("undo")
wait("no diagnostic", function() return #problems() == 0 end)
seen.mended = problems()

vim.fn.search("input.name", "w")
vim.fn.search("name", "W")
local hover = ask("textDocument/hover", vim.lsp.util.make_position_params(0, "utf-16"))
seen.hover = hover and hover.contents.value or ""

local before = vim.api.nvim_buf_get_lines(0, 0, -1, false)
vim.cmd([[%s/^  description =/      description   =/]])
if vim.lsp.buf.format then
  vim.lsp.buf.format({ timeout_ms = 60000 })
else
  vim.lsp.buf.formatting_sync(nil, 60000)
end
seen.formatted = vim.deep_equal(before, vim.api.nvim_buf_get_lines(0, 0, -1, false))

vim.cmd("edit! foreign/main.hcl")
wait("a client", attached)
ask("textDocument/hover", vim.lsp.util.make_position_params(0, "utf-16"))
seen.foreign = #problems()

io.stdout:write(vim.json and vim.json.encode(seen) or vim.fn.json_encode(seen))
vim.cmd("qall!")
