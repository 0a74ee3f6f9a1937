-- Strings, tables, closures and errors, as much as the first argument says.
local n = tonumber(arg and arg[1] or 5)
local words = {}
for i = 1, n do
  words[#words + 1] = ("word%03d"):format(i * 7 % 13)
end
table.sort(words)
local count = {}
for _, w in ipairs(words) do
  count[w] = (count[w] or 0) + 1
end
local function fib(k)
  if k < 2 then return k end
  return fib(k - 1) + fib(k - 2)
end
local ok, message = pcall(function() error({ code = n }) end)
print(#words, count["word007"], fib(n), ok, message.code, table.concat(words, " "):gsub("0", "o"))
