/* Runs a script in MuJS: objects, closures, sorting, regular expressions, JSON, an error that is caught. */
#include <stdio.h>
#include "mujs.h"

static void print(js_State *J) {
  puts(js_tostring(J, 1));
  js_pushundefined(J);
}

static const char script[] =
    "var a = []; for (var i = 0; i < 12; ++i) a.push((i * 7) % 5);\n"
    "a.sort(function (x, y) { return x - y; });\n"
    "function counter() { var n = 0; return function () { return ++n; }; }\n"
    "var c = counter(); c(); c();\n"
    "var words = 'the quick brown fox'.replace(/(\\w)(\\w*)/g, function (m, x, y) { return x.toUpperCase() + y; });\n"
    "var o = JSON.parse('{\"k\": [1, 2.5, null], \"s\": \"t\"}');\n"
    "var caught; try { null.x; } catch (e) { caught = e.name; }\n"
    "switch (a.length) { case 12: words += '!'; break; default: words += '?'; }\n"
    "print([a.join(','), c(), words, JSON.stringify(o), caught, (0.1 + 0.2).toFixed(3), parseInt('ff', 16)].join(' '));\n";

int main(void) {
  js_State *J = js_newstate(NULL, NULL, 0);
  js_newcfunction(J, print, "print", 1);
  js_setglobal(J, "print");
  if (js_dostring(J, script))
    return 1;
  js_freestate(J);
  return 0;
}
