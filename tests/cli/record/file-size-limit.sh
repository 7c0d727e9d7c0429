# A limit on the size of files makes a profile that is larger fail with a reason, rather than end the tool by a signal.
ulimit -f 1
roofline record -q -o large.json --sampling none --count none -- true $(printf '%02000d' 0)
