/* Runs a script in Lua: tables, closures, strings, a coroutine, an error that is caught. */
#include <stdio.h>
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static const char script[] =
    "local t = {}\n"
    "for i = 1, 20 do t[i] = (i * 7) % 11 end\n"
    "table.sort(t)\n"
    "local function counter() local n = 0 return function() n = n + 1 return n end end\n"
    "local c = counter() for _ = 1, 5 do c() end\n"
    "local words = {} for w in string.gmatch('the quick brown fox', '%a+') do words[#words + 1] = w:upper():reverse() end\n"
    "local co = coroutine.wrap(function(a) for i = 1, 3 do a = a + coroutine.yield(a * i) end return a end)\n"
    "local sum = co(1) + co(2) + co(3)\n"
    "local ok, why = pcall(function() error({code = 3}) end)\n"
    "print(table.concat(t, ','), c(), table.concat(words, ' '), sum, ok, why.code, 10 // 3, 2 ^ 0.5, #string.format('%5.2f', 3.14159))\n";

int main(void) {
  lua_State *L = luaL_newstate();
  if (!L)
    return 1;
  luaL_openlibs(L);
  if (luaL_dostring(L, script))
    printf("%s\n", lua_tostring(L, -1));
  lua_close(L);
  return 0;
}
