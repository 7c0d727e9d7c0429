unset HOME
roofline machines
